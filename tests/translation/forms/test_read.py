"""Which form an input has, and how its pieces go through a translator."""

from collections.abc import Generator, Iterable, Iterator
from itertools import islice, repeat
from pathlib import Path

import pytest

from seq2seq.errors import TranslationError
from seq2seq.translation.blocks import Given, Placed, placed
from seq2seq.translation.forms.document import read_document
from seq2seq.translation.forms.piece import Piece, translate_pieces
from seq2seq.translation.forms.read import form_of, read_pieces
from tests.translation.forms.reading import pieces_of, texts_of, translated


@pytest.mark.parametrize(
    ("form", "field", "name", "expected"),
    [
        ("auto", None, None, "lines"),
        ("auto", None, "a.txt", "lines"),
        ("auto", None, "a.SRT", "srt"),
        ("auto", None, "a.fr.vtt.gz", "vtt"),
        ("auto", None, "a.tsv", "lines"),
        ("auto", "2", "a.tsv.zst", "tsv"),
        ("auto", "2", "a.jsonl", "jsonl"),
        ("auto", "t", "a.ndjson", "jsonl"),
        ("auto", "t", "a.txt", "auto"),
        ("lines", None, "a.srt", "lines"),
        ("document", None, "a.srt", "document"),
        ("tsv", "10", "a.jsonl", "tsv"),
    ],
)
def test_the_form_is_given_or_follows_from_the_name(
    form: str, field: str | None, name: str | None, expected: str
) -> None:
    assert form_of(form, field, Path(name) if name else None) == expected


@pytest.mark.parametrize(
    ("form", "field", "name", "problem"),
    [
        ("tsv", None, None, "--form tsv needs --field"),
        ("jsonl", None, None, "--form jsonl needs --field"),
        ("document", "2", None, "--field has no meaning with --form document"),
        ("tsv", "0", None, "--field 0: a column of a table is a number from 1"),
        ("tsv", "9" * 19, None, "9: a column of a table is a number from 1"),
        ("auto", "t", "a.tsv", "--field t: a column of a table is a number from 1"),
        ("tsv", "-1", None, "--field -1: a column"),
        ("jsonl", "a..b", None, "--field 'a..b': a key is empty"),
        ("jsonl", "", None, "--field '': a key is empty"),
    ],
)
def test_a_field_must_suit_the_form(form: str, field: str | None, name: str | None, problem: str) -> None:
    with pytest.raises(TranslationError, match=problem):
        form_of(form, field, Path(name) if name else None)


def test_the_first_line_tells_a_table_from_json_lines() -> None:
    assert texts_of('\ufeff {"2": "a"}\n', "auto", "2") == ["a"]
    assert texts_of("1\ta\n", "auto", "2") == ["a"]
    with pytest.raises(TranslationError, match=r"a: --field t could be .*; add --form tsv or --form jsonl"):
        pieces_of("1\ta\n", "auto", "t")
    with pytest.raises(TranslationError, match="a column of a table is a number from 1"):
        pieces_of("1\ta\n", "auto", "0")


def test_plain_lines_are_texts_and_come_out_with_lf() -> None:
    assert [piece.texts for piece in read_pieces(["\ufeff a \r\n", "\n", "b"], "a", "lines")] == [[" a "], [""], ["b"]]
    assert "".join(piece.render(piece.texts) for piece in read_pieces(["\ufeffa\r\n", "b"], "a", "lines")) == "a\nb\n"


@pytest.mark.parametrize("form", ["lines", "document", "srt", "vtt", "tsv", "jsonl", "auto"])
def test_nothing_comes_of_nothing(form: str) -> None:
    assert pieces_of("", form, "1") == []
    assert translated("\ufeff", form, "1") == ("" if form == "lines" else "\ufeff")


# --- through a translator ---


def in_capitals(texts: Iterator[Given | None]) -> Generator[str, None, None]:
    yield from (given.text.upper() for given in texts if given is not None)


def in_one_block(pieces: Iterable[Piece]) -> Iterator[Placed[Piece]]:
    return placed(pieces, 0, lambda piece: len(piece.source), lambda piece: len(piece.texts))


def test_pieces_get_their_translations_back_in_order() -> None:
    text = "# Un\n\nDeux\ntrois\n\n"
    done = translate_pieces(in_one_block(pieces_of(text, "document")), in_capitals)
    assert "".join(piece.render(translations) for piece, translations in done) == "# UN\n\nDEUX\nTROIS\n\n"
    lines = '{"t": "a\\nb\\nc"}\n{"t": "d"}\n'
    done = translate_pieces(in_one_block(pieces_of(lines, "jsonl", "t")), in_capitals)
    assert [translations for _, translations in done] == [["A", "B", "C"], ["D"]]


@pytest.mark.parametrize("line", ["\n", "Un chat.\n"])
def test_no_more_is_read_than_the_translator_asks_for(line: str) -> None:
    """Of a file with blank lines only, too."""

    def reads_ahead(texts: Iterator[Given | None]) -> Generator[Given | None, None, None]:
        while window := list(islice(texts, 10)):
            yield from window

    n_read = 0

    def counted() -> Iterator[str]:
        nonlocal n_read
        for each in repeat(line):
            n_read += 1
            yield each
            yield "\n"

    done = translate_pieces(in_one_block(read_document(counted())), reads_ahead)
    for _ in range(25):
        next(done)
    assert n_read <= 20
