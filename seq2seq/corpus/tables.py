"""Pairs from tables, a cell for each of `data.tsv_columns`.

A TSV is plain: its quotes are text, and a file whose quotes could all be those of a spreadsheet is refused. A CSV is
quoted as spreadsheets quote, and has whichever of `,`, `;` and tabs gives as many cells as there are columns. The
first line may be a header: names of languages, or words such as source and target.
"""

import csv
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

from seq2seq.characters import base_language
from seq2seq.corpus.sources import Source
from seq2seq.errors import CorpusError

Row = tuple[int, list[str]]  # the number of a line, and its cells

_NAMES = {
    "ar": "arabic العربية", "bg": "bulgarian български", "bn": "bengali বাংলা", "ca": "catalan català",
    "cs": "czech čeština", "da": "danish dansk", "de": "german deutsch", "el": "greek ελληνικά", "en": "english",
    "es": "spanish español", "et": "estonian eesti", "fa": "persian فارسی", "fi": "finnish suomi",
    "fr": "french français", "he": "hebrew עברית", "hi": "hindi हिन्दी", "hr": "croatian hrvatski",
    "hu": "hungarian magyar", "id": "indonesian", "it": "italian italiano", "ja": "japanese 日本語",
    "ko": "korean 한국어", "lt": "lithuanian lietuvių", "lv": "latvian latviešu", "nl": "dutch nederlands",
    "no": "norwegian norsk", "pl": "polish polski", "pt": "portuguese português", "ro": "romanian română",
    "ru": "russian русский", "sk": "slovak slovenčina", "sl": "slovenian slovenščina", "sr": "serbian српски",
    "sv": "swedish svenska", "sw": "swahili kiswahili", "th": "thai ไทย", "tr": "turkish türkçe",
    "uk": "ukrainian українська", "ur": "urdu اردو", "vi": "vietnamese", "zh": "chinese 中文",
}  # fmt: skip
_LANGUAGE_OF = {name: code for code, names in _NAMES.items() for name in names.split()}
_SIDES = {"source", "src", "target", "tgt", "translation"}
_HEAD = 1_000  # lines that say which delimiter a CSV has
_DELIMITERS = ",;\t"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_MANY = 5  # cells with a comma, or lines, of which all are quoted


def table_pairs(source: Source, lines: Iterator[str], notice: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """The pairs of a table.

    Args:
        notice: told of a header.
    Raises:
        CorpusError: a line with another number of cells or with quotes that are not closed, a header that names other
            languages or columns, or a TSV that is quoted as spreadsheets quote.
    """
    (path,), n_columns = source.paths, len(source.columns)
    src, tgt = map(source.columns.index, source.languages)
    kind, rows = "tab-separated ", _tsv_rows
    if source.form == "csv":
        kind, rows = "", _csv_rows
    for number, cells in rows(source, lines):
        if number == 1 and _is_header(source, cells):
            notice(f"{path}:1: {' | '.join(cells)[:60]!r} is a header, and no pair")
            continue
        if len(cells) != n_columns:
            raise CorpusError(
                f"{path}:{number}: expected {n_columns} {kind}fields, found {len(cells)} in "
                f"{chr(9).join(cells)[:60]!r}; correct it, or the languages of the columns (data.tsv_columns), where "
                "'-' skips one"
            )
        yield cells[src], cells[tgt]


def _is_header(source: Source, cells: list[str]) -> bool:
    """Whether the first line says what the columns are.

    Raises:
        CorpusError: it says something else than the configuration.
    """
    columns = source.columns
    if [cell.casefold() for cell in cells] == [column.casefold() for column in columns]:
        return True
    said = [_named(cell, source.languages) for cell in cells]
    at_columns = [name for name, column in zip(said, columns, strict=False) if column in source.languages]
    says_both = set(source.languages).issubset(said)
    if not says_both and (len(cells) != len(columns) or not all(at_columns)):
        return False
    wanted = [column for column in columns if column in source.languages]
    if len(cells) == len(columns) and all(
        name in (column, "side") for name, column in zip(at_columns, wanted, strict=True)
    ):
        return True
    listed = [name if name in source.languages else "-" for name in said]
    raise CorpusError(
        f"{source.paths[0]}:1: the header {' | '.join(cells)[:60]!r} says something else than "
        f"data.tsv_columns=[{','.join(columns)}]; "
        + (
            f"write data.tsv_columns=[{','.join(listed)}] (--languages {' '.join(listed)})"
            if says_both
            else "correct it (--languages), data.src_lang or data.tgt_lang"
        )
    )


def _named(cell: str, languages: tuple[str, ...]) -> str:
    """The language that a cell of a header names, `side` for words such as source, and nothing for text.

    It is spelt as in `languages`: `pt_BR` for `pt-br`, or for `pt` and Portuguese if there is no `pt`.
    """
    name = cell.strip().casefold()
    if name in _SIDES:
        return "side"
    code = _LANGUAGE_OF.get(name, "")
    exact = [each for each in languages if each.casefold().replace("_", "-") == name.replace("_", "-")]
    alike = [each for each in languages if base_language(each) in (base_language(name), code)]
    return next(iter(exact + alike), code)


def _csv_rows(source: Source, lines: Iterator[str]) -> Iterator[Row]:
    """Between the cells of a CSV stands what gives the first lines as many cells as there are columns."""
    (path,), n_columns = source.paths, len(source.columns)
    head = list(islice(lines, _HEAD))
    n_fitting = {
        delimiter: sum(len(_cells(line, delimiter) or ()) == n_columns for line in head) for delimiter in _DELIMITERS
    }
    most = max(n_fitting.values())
    delimiters = [delimiter for delimiter in _DELIMITERS if n_fitting[delimiter] == most]
    if most and len(delimiters) > 1:
        raise CorpusError(
            f"{path}: {' and '.join(map(repr, delimiters))} both divide its lines into {n_columns} cells; put quotes "
            "around the cells that have one in their text"
        )
    for number, line in enumerate(chain(head, lines), start=1):
        if (cells := _cells(line, delimiters[0])) is None:
            raise CorpusError(
                f"{path}:{number}: the quotes of {line[:60]!r} are not closed in the line, or stand inside a cell; a "
                "sentence is one line, so take out line breaks, and write a quote inside quotes twice"
            )
        yield number, cells


def _cells(line: str, delimiter: str) -> list[str] | None:
    """The cells of a line of CSV; None if it is not one."""
    try:
        (cells,) = csv.reader([line], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):  # ValueError: a carriage return has made two rows of it
        return None
    return cells


def _tsv_rows(source: Source, lines: Iterator[str]) -> Iterator[Row]:
    """The rows of a TSV, whose quotes are text, unless all that there are could be those of a spreadsheet.

    A spreadsheet quotes all cells, or those that have a quote (which it doubles) or a comma. The first cell with a
    quote that it would have written another way says that quotes are text.
    """
    path, number, all_quoted, n_commas = source.paths[0], 0, True, 0  # n_commas: -1 after one without quotes
    numbered = enumerate(lines, start=1)
    for number, line in numbered:
        cells = line.split("\t")
        if '"' not in line:
            all_quoted, n_commas = False, -1 if "," in line else n_commas
            yield number, cells
            continue
        for cell in cells:
            is_quoted = _QUOTED.fullmatch(cell) is not None
            if '"' in cell and not is_quoted:
                yield number, cells
                yield from ((number, line.split("\t")) for number, line in numbered)
                return
            all_quoted &= is_quoted
            if "," in cell:
                n_commas = n_commas + 1 if is_quoted and n_commas >= 0 else -1
            if (is_quoted and '""' in cell[1:-1]) or n_commas == _MANY:
                raise _is_quoted(path, number, cell)
        if all_quoted and number == _MANY:
            raise _is_quoted(path, number, cells[0])
        yield number, cells
    if all_quoted and number:
        raise _is_quoted(path, number, cells[0])


def _is_quoted(path: Path, number: int, cell: str) -> CorpusError:
    return CorpusError(
        f"{path}:{number}: {cell[:60]!r} is quoted as spreadsheets quote; name the file .csv, so that the quotes are "
        "taken off, or if they are text, give two files with a sentence in each line"
    )
