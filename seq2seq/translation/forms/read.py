"""The form of an input, chosen by option or file name, and the input in pieces."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.errors import TranslationError
from seq2seq.translation.forms.document import read_document
from seq2seq.translation.forms.fields import read_jsonl, read_tsv
from seq2seq.translation.forms.piece import Piece, numbered
from seq2seq.translation.forms.subtitles import read_srt, read_vtt

BOM = "\ufeff"

FORMS = ("auto", "lines", "document", "markdown", "srt", "vtt", "tsv", "jsonl")
_OF_SUFFIX = {".srt": "srt", ".vtt": "vtt", ".md": "markdown", ".markdown": "markdown"}
_OF_SUFFIX_WITH_FIELD = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_TABLES = ("tsv", "jsonl")
# What files hold that are no lines of text, and what to do.
_NO_LINES = {
    (
        ".html",
        ".htm",
        ".xhtml",
    ): "are tags and text: make Markdown of it, as `pandoc -t gfm` does, or add --keep markup",
    (".po", ".pot"): "are keys and comments, too: take its texts out and put them back, as po2csv and csv2po do",
    (".json",): "are of one object: make JSON Lines of its texts, as `jq -c` does, and name their key with --field",
    (".csv",): "have several fields: make TSV of it, as `csvformat -T` does, and name the column with --field",
    (".xlf", ".xliff"): "are tags and text: take its texts out and put them back, as xliff2po and po2csv do",
}


def form_of(form: str, field: str | None, path: Path | None) -> str:
    """The form that an input is read in.

    Args:
        form: one of `FORMS`.
        field: what of each line is translated: a column of TSV, from 1, or a key of JSON Lines.
        path: of the input; None for stdin.
    Returns:
        One of `FORMS`; "auto" only if the first line has to tell whether a field is one of TSV or of JSON Lines.
    Raises:
        TranslationError: the form needs a field and there is none, or the other way round; or TSV has no such field.
    """
    if form == "auto":
        suffix = _suffix(path)
        form = _OF_SUFFIX.get(suffix, "lines") if field is None else _OF_SUFFIX_WITH_FIELD.get(suffix, "auto")
    if field is None and form in _TABLES:
        raise TranslationError(f"--form {form} needs --field, which says what of each line is translated")
    if field is not None and form not in (*_TABLES, "auto"):
        raise TranslationError(f"--field has no meaning with --form {form}; it is for tsv and jsonl")
    if field is not None and form == "tsv" and not (field.isdecimal() and len(field) < 10 and int(field) > 0):
        raise TranslationError(f"--field {field}: a column of a table is a number from 1")
    if field is not None and form != "tsv" and not all(field.split(".")):
        raise TranslationError(f"--field {field!r}: a key is empty; write one, or several with dots between them")
    return form


def doubt(path: Path | None) -> str | None:
    """What to say of a file that is read as lines because of its name, and that hardly has lines of text."""
    suffix = _suffix(path)
    for suffixes, what in _NO_LINES.items():
        if suffix in suffixes:
            return (
                f"{path} is translated line by line, but lines of {suffix} files {what}; --form lines means it so, "
                "without this warning"
            )
    return None


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
    if form == "auto":
        assert field is not None
        form = "jsonl" if first.lstrip().startswith("{") else "tsv" if field.isdecimal() else "auto"
        if form == "auto":
            raise TranslationError(
                f"{name}: --field {field} could be a column of a table or a key of JSON Lines; add --form tsv or "
                "--form jsonl"
            )
        form = form_of(form, field, None)
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
        case "srt":
            return read_srt(lines, name)
        case "vtt":
            return read_vtt(lines, name)
        case "tsv":
            return read_tsv(lines, name, int(field))
        case "jsonl":
            return read_jsonl(lines, name, field)
    assert form == "lines"
    return _read_lines(lines)


def _read_lines(lines: Iterator[str]) -> Iterator[Piece]:
    for line in numbered(lines):
        yield Piece(line.source, line.number, [line.text], lambda translations: f"{translations[0]}\n")
