"""Sentences and sentence pairs from files, one at a time.

A line ends at LF and nowhere else: U+2028, U+0085, VT and FF are characters of a sentence. Reading removes one CR
before the LF, and a byte order mark at the start of a file. It keeps everything else as it is.
"""

import codecs
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from seq2seq.corpus.augmentation import SEED, augmented_in_turn, named
from seq2seq.corpus.compression import DAMAGE, decompressed, open_binary
from seq2seq.corpus.drift import drift
from seq2seq.corpus.sources import Source
from seq2seq.corpus.tables import table_pairs
from seq2seq.corpus.units import unit_pairs
from seq2seq.errors import CorpusError
from seq2seq.exit_status import progress

logger = logging.getLogger(__name__)

_TOLD = 10_000  # pairs between two words on how many are read


def read_lines(
    file: Path | BinaryIO,
    errors: str = "strict",
    on_replaced: Callable[[int], None] | None = None,
    *,
    is_exact: bool = False,
) -> Iterator[str]:
    """The lines of UTF-8 text, plain or compressed, without line ends; see `open_binary`.

    Args:
        file: or stdin as a stream, which stays open.
        errors: `strict` refuses bytes that are not UTF-8; `replace` puts U+FFFD in their place.
        on_replaced: called with the number, from 1, of each line with such bytes, before the line is yielded. Leave it
            out only where another pass over the same text counts these lines.
        is_exact: lines keep their line ends, and the first one its byte order mark.
    Raises:
        CorpusError: the text cannot be read, is damaged, or is not UTF-8 (with the line and the byte in it).
    """
    assert errors in ("strict", "replace")
    number = 0
    try:
        with open_binary(file) if isinstance(file, Path) else nullcontext(decompressed(file)) as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1 and not is_exact:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if not is_exact:
                    line = line.removesuffix(b"\n").removesuffix(b"\r")
                try:
                    text = line.decode()
                except UnicodeDecodeError as error:
                    if errors == "strict":
                        raise CorpusError(_not_utf8(_name(file), number, error)) from error
                    if on_replaced is not None:
                        on_replaced(number)
                    text = line.decode(errors="replace")
                yield text
    except (*DAMAGE, OSError) as error:
        raise CorpusError(_not_read(_name(file), number, error)) from error


def read_pairs(source: Source) -> Iterator[tuple[str, str]]:
    """All (source, target) sentences of one corpus source, in order, and with its augmentations if it has any.

    Raises:
        CorpusError: what `read_lines` raises; an empty corpus; files with different numbers of lines; a line or a unit
            that does not have the form.
    """
    if source.augmentations:
        yield from ((src, tgt) for src, tgt, *_ in _augmented_rows(source))
        return
    n_pairs = 0
    for n_pairs, pair in enumerate(_pairs(source), start=1):  # noqa: B007 (read after the loop)
        yield pair
    if n_pairs == 0:
        raise CorpusError(f"no sentence pair in {source}; the corpus is empty, give another one")


def watched_pairs(source: Source) -> Iterator[tuple[str, str]]:
    """The same as `read_pairs`, for a pass that takes long: a user on a terminal sees how many are read."""
    with progress() as tell:
        for n_pairs, pair in enumerate(read_pairs(source), start=1):
            yield pair
            if n_pairs % _TOLD == 0:
                tell(f"{source}: {n_pairs:,} pairs")


def spread_pairs(source: Source, most: int) -> Iterator[tuple[str, str]]:
    """Pairs from all of a source, which may be in the order of its documents: every n-th, so that `most` are enough."""
    n_pairs = sum(1 for _ in read_pairs(source))
    return islice(read_pairs(source), 0, None, max(1, -(-n_pairs // most)))


def _pairs(source: Source) -> Iterator[Any]:
    path = source.paths[0]
    match source.form:
        case "lines":
            return read_aligned(source.paths)
        case "tsv" | "csv":
            return table_pairs(source, read_lines(path), _say_once)
        case "jsonl":
            return _jsonl(source, read_lines(path))
    return unit_pairs(source, read_lines(path), _chunks(path), _say_once)


@cache
def _say_once(notice: str) -> None:
    """A source is read several times."""
    logger.warning("%s", notice)


def _chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, plain or compressed."""
    n_lines = 0
    try:
        with open_binary(path) as stream:
            while chunk := stream.read(1 << 16):
                yield chunk
                n_lines += chunk.count(b"\n")
    except (*DAMAGE, OSError) as error:
        raise CorpusError(_not_read(str(path), n_lines, error)) from error


def read_references(source: Source) -> Iterator[list[str]]:
    """The further references of each pair of `read_pairs`. Most corpora have none.

    Raises:
        CorpusError: what `read_lines` raises; files with different numbers of lines.
    """
    if source.augmentations:
        for _, _, *further in _augmented_rows(source):
            yield [line for line in further if line.strip()]
    elif source.references:
        for _, *further in read_aligned((source.paths[1], *source.references)):
            yield [line for line in further if line.strip()]
    else:
        for _ in read_pairs(source):
            yield []


def _augmented_rows(source: Source) -> Iterator[Sequence[str]]:
    """Sources with their targets and further references, which are augmented together."""
    plain = replace(source, augmentations=())
    rows: Iterator[Sequence[str]] = read_aligned(plain.files) if plain.references else read_pairs(plain)
    return augmented_in_turn(rows, named(source.augmentations), SEED)


def read_aligned(files: Sequence[Path | BinaryIO]) -> Iterator[tuple[str, ...]]:
    """Line n of every file, for each n.

    Raises:
        CorpusError: what `read_lines` raises; files with different numbers of lines.
    """
    readers = [read_lines(file) for file in files]
    for n, lines in enumerate(zip_longest(*readers)):
        if None in lines:
            counts = [
                n if line is None else n + 1 + sum(1 for _ in rest) for line, rest in zip(lines, readers, strict=True)
            ]
            odd = next(i for i, count in enumerate(counts) if count != counts[0])
            few, many = (files[i] for i in sorted((0, odd), key=counts.__getitem__))
            where = ""
            if all(isinstance(file, Path) and file.is_file() for file in (few, many)):  # which can be read again
                where = drift(partial(read_lines, few), partial(read_lines, many), abs(counts[odd] - counts[0]))
            raise CorpusError(
                f"{_name(files[0])} has {counts[0]} lines but {_name(files[odd])} has {counts[odd]}{where}; line n of "
                "one must translate line n of the other, so align the files again"
            )
        yield lines


def _jsonl(source: Source, lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """The keys of each object are language codes, possibly inside `translation`."""
    src, tgt = source.languages
    for number, line in enumerate(lines, start=1):
        where = f"{source.paths[0]}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where}: not a JSON object ({error}); give one a line") from error
        if isinstance(record, dict) and isinstance(record.get("translation"), dict):
            record = record["translation"]
        yield _sentence(record, src, where), _sentence(record, tgt, where)


def _sentence(record: Any, key: str, where: str) -> str:
    text = record.get(key) if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise CorpusError(
            f"{where}: expected an object with a string under {key!r}, found {repr(record)[:60]}; "
            "correct the line, or data.src_lang and data.tgt_lang"
        )
    if "\n" in text:
        raise CorpusError(f"{where}: the text under {key!r} has a line break; a sentence is one line, remove it")
    if not _is_unicode(text):
        raise CorpusError(f"{where}: the text under {key!r} has half a surrogate pair; replace that \\u escape")
    return text


def _is_unicode(text: str) -> bool:
    """False for half a surrogate pair, which JSON can write and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(file: Path | BinaryIO) -> str:
    return str(file) if isinstance(file, Path) else "stdin"


def _not_read(name: str, n_lines: int, error: Exception) -> str:
    """Why reading failed after so many lines."""
    if isinstance(error, OSError) and error.errno is not None:  # bz2 reports invalid data without one
        return f"cannot read {name}: {error.strerror or error}; check its name and permissions"
    return f"{name}: damaged or cut off after line {n_lines} ({error}); copy or download the file again"


def _not_utf8(name: str, number: int, error: UnicodeDecodeError) -> str:
    if number == 1 and error.object.startswith(b"PK\x03\x04"):
        return f"{name}: is a ZIP archive, as .docx, .xlsx and .odt are; save its content as plain text or CSV in UTF-8"
    if number == 1 and error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return (
            f'{name}:1: is UTF-16, as Excel\'s "Unicode text" is, and not UTF-8; save it as "CSV UTF-8", or convert '
            "the text: iconv -f UTF-16 -t UTF-8"
        )
    return (
        f"{name}:{number}: byte {error.start + 1} of the line (0x{error.object[error.start]:02x}) is not UTF-8; "
        "convert the text from the encoding that it has, such as WINDOWS-1252, WINDOWS-1251, GB18030 or SHIFT_JIS: "
        "iconv -f ENCODING -t UTF-8"
    )
