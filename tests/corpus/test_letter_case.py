"""What counts as capitals and as title case."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.letter_case import is_capitalised, is_in_capitals, is_in_title_case


@pytest.mark.parametrize(
    "text",
    [
        "UN CHAT DORT.",
        "A MAN IS ON TV",
        "L'ÉTÉ ARRIVE !",
        "2 HOMMES ET 3 FEMMES",
        "ДВА КОТА",
        "C'EST L'ÉTÉ",
        "«  DEUX\u00a0CHATS »",
    ],
)
def test_text_in_capitals(text: str) -> None:
    assert is_in_capitals(text)
    assert not is_in_title_case(text)


@pytest.mark.parametrize(
    "text",
    ["", "USA", "ONU, OTAN", "NASA/ESA", "SNCF !", "I AM", "UN CHAT dort", "A4 B5 C6", "两只猫", "F. D. R. J. F. K."],
)  # fmt: skip
def test_text_that_is_not_in_capitals(text: str) -> None:
    assert not is_in_capitals(text)


@pytest.mark.parametrize(
    "text",
    [
        "Un Homme Avec Un Chapeau",
        "A Man With a Red Hat",
        "Two Men Don't Play Football",
        "The Lord of the Rings Is Back",
        "E\u0301lance Du Matin Bleu",  # with its accent apart
    ],
)
def test_titles(text: str) -> None:
    assert is_in_title_case(text)
    assert not is_in_capitals(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "Un Chat Dort", "Un homme avec un chapeau", "Der Mann kauft Brot und Butter"),
        *("Un chat dort. Un chien court.", "McDonald MacGregor O'Brien iPhone", "A is to b as c is"),
    ],
)
def test_text_that_is_no_title(text: str) -> None:
    assert not is_in_title_case(text)


@given(st.text())
def test_no_text_is_both(text: str) -> None:
    assert not (is_in_capitals(text) and is_in_title_case(text))


@pytest.mark.parametrize("word", ["Été", "ÉTÉ", "L'Été", "Ёж", "ЁЖ"])
def test_a_capital_with_an_accent_is_one_in_every_form(word: str) -> None:
    assert is_capitalised(unicodedata.normalize("NFD", word)) == is_capitalised(word) == (word not in ("ÉTÉ", "ЁЖ"))
