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
        "UN HOMME AVEC UN iPhone",
        "LES ENFANTS McDONALD JOUENT",
        "LA FONCTION error_reporting() N'EXISTE PLUS",
        "ÉCRIVEZ À info@exemple.fr OU SUR https://exemple.fr/nous",
        "LE 2e ÉTAGE OUVRE À 15h30",
    ],
)
def test_text_in_capitals(text: str) -> None:
    assert is_in_capitals(text)
    assert not is_in_title_case(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "USA", "ONU, OTAN", "NASA/ESA", "SNCF !", "I AM", "UN CHAT dort", "A4 B5 C6", "两只猫"),
        *("F. D. R. J. F. K.", "E_ALL E_NOTICE TypeError", "Mlle DUPONT CHANTE"),
    ],
)
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
        "NASA Sends Two Astronauts To The ISS",
        "A New iPhone And a YouTube Channel For Everyone",
        "How To Set $php_errormsg With error_reporting() In md5.php",
        "Read Much More At https://example.org/some/long/page",
    ],
)
def test_titles(text: str) -> None:
    assert is_in_title_case(text)
    assert not is_in_capitals(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "Un Chat Dort", "Un homme avec un chapeau", "Der Mann kauft Brot und Butter"),
        *("Set E_ALL or TypeError", "NASA ESA JAXA CNES and others", "Only error_reporting And Assert.exception=0"),
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
