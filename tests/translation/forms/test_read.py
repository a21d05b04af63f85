"""Which form an input has, and its pieces."""

from pathlib import Path

import pytest

from seq2seq.errors import TranslationError
from seq2seq.translation.forms.read import form_of, read_pieces
from tests.translation.forms.reading import pieces_of, translated


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
        ("auto", "2", "a.txt", "--field is for --form tsv and --form jsonl, and has no meaning with --form lines"),
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


def test_plain_lines_are_texts_and_come_out_with_lf() -> None:
    assert [piece.texts for piece in read_pieces(["\ufeff a \r\n", "\n", "b"], "a", "lines")] == [[" a "], [""], ["b"]]
    assert "".join(piece.render(piece.texts) for piece in read_pieces(["\ufeffa\r\n", "b"], "a", "lines")) == "a\nb\n"


@pytest.mark.parametrize("form", ["lines", "document", "srt", "vtt", "tsv", "jsonl"])
def test_nothing_comes_of_nothing(form: str) -> None:
    assert pieces_of("", form, "1") == []
    assert translated("\ufeff", form, "1") == ("\n" if form == "lines" else "\ufeff")
