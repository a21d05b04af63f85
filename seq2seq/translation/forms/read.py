"""The form of an input, chosen by option or file name, and the input in pieces.

Here are the forms with a text a line: plain lines, and tables (TSV) and JSON Lines, of which one field of each line is
translated, and not a byte of the rest changes.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.errors import TranslationError
from seq2seq.translation.forms.document import read_document
from seq2seq.translation.forms.piece import Line, Piece, numbered
from seq2seq.translation.forms.subtitles import read_subtitles

BOM = "\ufeff"

FORMS = ("auto", "lines", "document", "markdown", "srt", "vtt", "tsv", "jsonl")
_OF_SUFFIX = {".srt": "srt", ".vtt": "vtt", ".md": "markdown", ".markdown": "markdown"}
_OF_SUFFIX_WITH_FIELD = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_TABLES = ("tsv", "jsonl")
_SHOWN = 60  # characters of a line in a message
_LINE_END = re.compile(r"(\r\n|\n|\r)")
_SPACE = re.compile(r"[ \t\r]*")
# Numbers are not converted, which could fail and takes time.
_JSON = json.JSONDecoder(parse_float=str, parse_int=str)
# What files hold that are no lines of text, and what to do.
_TAGS = "are tags and text: make Markdown of it, as `pandoc -t gfm` does, or add --keep markup"
_KEYS = "are keys and comments, too: take its texts out and put them back, as po2csv and csv2po do"
_UNITS = "are tags and text: take its texts out and put them back, as xliff2po and po2csv do"
_NO_LINES = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), _TAGS),
    **dict.fromkeys((".po", ".pot"), _KEYS),
    **dict.fromkeys((".xlf", ".xliff"), _UNITS),
    ".json": "are of one object: make JSON Lines of its texts, as `jq -c` does, and name their key with --field",
    ".csv": "have several fields: make TSV of it, as `csvformat -T` does, and name the column with --field",
}


def form_of(form: str, field: str | None, path: Path | None) -> str:
    """The form that an input is read in.

    Args:
        form: one of `FORMS`.
        field: what of each line is translated: a column of TSV, from 1, or a key of JSON Lines.
        path: of the input; None for stdin.
    Returns:
        One of `FORMS`, but not "auto".
    Raises:
        TranslationError: the form needs a field and there is none, or the other way round; or TSV has no such field.
    """
    if form == "auto":
        known = _OF_SUFFIX if field is None else _OF_SUFFIX_WITH_FIELD
        form = known.get(_suffix(path), "lines")
    if field is None and form in _TABLES:
        raise TranslationError(f"--form {form} needs --field, which says what of each line is translated")
    if field is not None and form not in _TABLES:
        raise TranslationError(f"--field is for --form tsv and --form jsonl, and has no meaning with --form {form}")
    if field is not None and form == "tsv" and not (field.isdecimal() and len(field) < 10 and int(field) > 0):
        raise TranslationError(f"--field {field}: a column of a table is a number from 1")
    if field is not None and form == "jsonl" and not all(field.split(".")):
        raise TranslationError(f"--field {field!r}: a key is empty; write one, or several with dots between them")
    return form


def doubt(path: Path | None) -> str | None:
    """What to say of a file that is read as lines because of its name, and that hardly has lines of text."""
    suffix = _suffix(path)
    if (what := _NO_LINES.get(suffix)) is None:
        return None
    return (
        f"{path} is translated line by line, but lines of {suffix} files {what}; --form lines means it so, without "
        "this warning"
    )


def _suffix(path: Path | None) -> str:
    """The last one of a name, that of a compression left out."""
    suffixes = [] if path is None else [each.lower() for each in path.suffixes if each.lower() not in COMPRESSIONS]
    return suffixes[-1] if suffixes else ""


def read_pieces(lines: Iterable[str], name: str, form: str, field: str | None = None) -> Iterator[Piece]:
    """A text in pieces, in memory that does not grow with it.

    The pieces of `lines` have one text each. They come out with LF at their end, and without a byte order mark.

    Args:
        lines: with their line ends, and a byte order mark if there is one.
        name: of the text, for messages.
        form, field: see `form_of`, whose result `form` is.
    Raises:
        TranslationError: the text does not have this form; the message names the line.
    """
    lines = iter(lines)
    first = next(lines, None)
    if first is None:
        return
    bom = BOM if first.startswith(BOM) else ""
    first = first[len(bom) :]
    is_line = bool(first) or form == "lines"  # a file with a byte order mark alone is one blank line
    pieces = _read(chain([first] if is_line else [], lines), name, form, field or "")
    if bom:
        yield _with_bom(next(pieces, Piece("", 1, (), lambda _: "")), stays=form != "lines")
    yield from pieces


def _with_bom(piece: Piece, stays: bool) -> Piece:
    render = piece.render
    before = BOM if stays else ""
    return replace(piece, source=BOM + piece.source, render=lambda translations: before + render(translations))


def _read(lines: Iterator[str], name: str, form: str, field: str) -> Iterator[Piece]:
    match form:
        case "document":
            return read_document(lines)
        case "markdown":
            from seq2seq.translation.forms.markdown import read_markdown  # 0.07 s, which no other form needs

            return read_markdown(lines)
        case "srt" | "vtt":
            return read_subtitles(lines, name, is_vtt=form == "vtt")
        case "tsv":
            return read_tsv(lines, name, int(field))
        case "jsonl":
            return read_jsonl(lines, name, field)
    assert form == "lines"
    return _read_lines(lines)


def _read_lines(lines: Iterator[str]) -> Iterator[Piece]:
    for line in numbered(lines):
        yield Piece(line.source, line.number, [line.text], lambda translations: f"{translations[0]}\n")


def read_tsv(lines: Iterable[str], name: str, column: int) -> Iterator[Piece]:
    """Each line of a table as a piece, with the text of one column.

    Fields are what stands between tabs. Quotation marks have no meaning.

    Args:
        lines: with their line ends.
        name: of the file, for messages.
        column: from 1.
    Raises:
        TranslationError: a line does not have the column.
    """
    for line in numbered(lines):
        fields = line.text.split("\t", column)
        if len(fields) < column:
            raise TranslationError(
                f"{name}:{line.number}: has {len(fields)} tab-separated fields, so there is no --field {column}; "
                "correct the line or the number"
            )
        before = len("\t".join(fields[: column - 1])) + (column > 1)
        yield _piece(line, before, before + len(fields[column - 1]), [fields[column - 1]], _tsv_field)


def read_jsonl(lines: Iterable[str], name: str, path: str) -> Iterator[Piece]:
    """Each line of JSON Lines as a piece, with the text under one key.

    A text of several lines is translated line by line, and keeps its line ends. A line that writes é as \\u00e9 comes
    out so.

    Args:
        lines: with their line ends.
        name: of the file, for messages.
        path: a key, or several with dots between them, of objects inside objects.
    Raises:
        TranslationError: a line is not a JSON object, or has no string there.
    """
    keys = path.split(".")
    for line in numbered(lines):
        where = f"{name}:{line.number}"
        try:
            found = _find(line.text, 0, keys) if isinstance(_JSON.decode(line.text), dict) else None
        except (ValueError, RecursionError) as error:
            raise TranslationError(f"{where}: not a JSON object ({error}); give one a line") from error
        if found is None:
            raise TranslationError(
                f"{where}: expected an object with a string under {path!r}, found {line.text[:_SHOWN]!r}; "
                "correct the line or --field"
            )
        start, end, text = found
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise TranslationError(
                f"{where}: the text under {path!r} has half a surrogate pair; replace that \\u escape"
            )
        is_ascii = line.text.isascii() and "\\u" in line.text
        yield _piece(line, start, end, _LINE_END.split(text), partial(json.dumps, ensure_ascii=is_ascii))


def _piece(line: Line, start: int, end: int, parts: Sequence[str], written: Callable[[str], str]) -> Piece:
    """A line whose characters from `start` to `end` are translated.

    Args:
        parts: texts, and between them what stays.
        written: makes all of them the new characters, once the texts are translated.
    """
    texts = [part.strip() for part in parts[::2]]

    def render(translations: Sequence[str]) -> str:
        new = list(parts)
        for i, (text, translation) in enumerate(zip(texts, translations, strict=True)):
            before, _, after = parts[2 * i].partition(text) if text else (parts[2 * i], "", "")
            new[2 * i] = before + translation + after
        return line.text[:start] + written("".join(new)) + line.text[end:] + line.end

    return Piece(line.source, line.number, texts, render)


def _tsv_field(text: str) -> str:
    return text.replace("\t", " ")  # a translation may hold some, if the training text did


def _find(line: str, start: int, keys: Sequence[str]) -> tuple[int, int, str] | None:
    """Where in `line` the string under `keys` begins and ends, with its quotation marks, and what it says.

    As when JSON is read, the last of several equal keys counts.

    Args:
        line: valid JSON.
        start: where an object begins, or white space before it.
    Returns:
        None if there is no string.
    """
    found = None
    i = _after_space(line, start)
    if line[i] != "{":
        return None
    i = _after_space(line, i + 1)
    while line[i] != "}":
        key, i = _JSON.raw_decode(line, i)
        i = _after_space(line, _after_space(line, i) + 1)  # the colon
        value, end = _JSON.raw_decode(line, i)
        if key == keys[0] and len(keys) > 1:
            found = _find(line, i, keys[1:])
        elif key == keys[0]:
            found = (i, end, value) if line[i] == '"' else None
        i = _after_space(line, end)
        if line[i] == ",":
            i = _after_space(line, i + 1)
    return found


def _after_space(line: str, i: int) -> int:
    space = _SPACE.match(line, i)
    assert space is not None  # it matches nothing, too
    return space.end()
