"""Tables (TSV) and JSON Lines: one field of each line is translated, and not a byte of the rest changes."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from seq2seq.errors import TranslationError
from seq2seq.translation.forms.piece import Line, Piece, numbered

_SHOWN = 60  # characters of a line in a message
_LINE_END = re.compile(r"(\r\n|\n|\r)")
_SPACE = re.compile(r"[ \t\r]*")
# Numbers are not converted, which could fail and takes time.
_JSON = json.JSONDecoder(parse_float=str, parse_int=str)


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
        yield _piece(line, start, end, _LINE_END.split(text), _ascii_string if is_ascii else _string)


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


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _ascii_string(text: str) -> str:
    return json.dumps(text)


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
