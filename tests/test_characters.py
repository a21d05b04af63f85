"""What is a word and a character, in every script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.characters import (
    composed,
    has_spaces,
    has_spaces_between_sentences,
    has_word,
    letter_words,
    n_words,
    script_of,
    split_words,
    stop_kind,
    word_spans,
)
from tests.effort import no_hang


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'été, à l'heure !", ["L'été,", "à", "l'heure", "!"]),
        ("iPhone手机，3元", ["iPhone", "手", "机", "，3", "元"]),
        ("が か\u3099 カード 々", ["が", "か\u3099", "カ", "ー", "ド", "々"]),
        ("น้ำใน", ["น้ำ", "ใ", "น"]),
        ("ខ្ញុំទៅ", ["ខ្ញុំ", "ទៅ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("नली तमिल।", ["नली", "तमिल।"]),
        ("서울에 간다", ["서울에", "간다"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("a\x1cb\x1f 我\x1dc", ["a", "b", "我", "c"]),  # spaces for Python, not for Unicode
    ],
)
def test_words_stand_between_spaces_and_are_characters_where_there_are_none(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


def test_words_stand_where_they_are_found() -> None:
    for text in (" L'été, à\u00a0l'heure ! ", "，iPhone手机 3元 น้ำใน", ""):
        assert [text[start:end] for start, end in word_spans(text)] == split_words(text)


def test_words_of_letters_have_their_marks() -> None:
    assert letter_words("l'e\u0301te\u0301, 3 நீர்! שָׁלוֹם شَجَرة نَ 我们_a1") == [
        *("l", "e\u0301te\u0301", "நீர்", "שָׁלוֹם", "شَجَرة", "نَ", "我", "们", "a")
    ]


def test_two_characters_count_as_a_word() -> None:
    assert [n_words(text) for text in ("", "un mot", "我", "我们", "我们去 a b")] == [0, 2, 1, 1, 4]


def test_languages_have_spaces_between_words_or_between_sentences_alone() -> None:
    languages = ["fr", "ko", "zh-CN", "zho_Hans", "JA", "th_TH", "my"]
    assert [has_spaces(language) for language in languages] == [True, True, *[False] * 5]
    assert [has_spaces_between_sentences(language) for language in languages] == [True, True, *[False] * 3, True, True]


def test_scripts_have_the_names_of_unicode() -> None:
    assert [script_of(letter) for letter in "aéж我あ\x00"] == ["Latin", "Latin", "Cyrillic", "Cjk", "Hiragana", ""]


@pytest.mark.parametrize(
    "text", ["", "12", "1.2.3", "---", "!" * 30, "A", "(b).", "à", "a\u0300", "ب", "ש\u05b8", "ω", "Ⅳ", "½ 😀"]
)
def test_numbers_marks_and_one_letter_are_no_word(text: str) -> None:
    assert not has_word(text)


@pytest.mark.parametrize("text", ["oui", "x 3", "10 h", "好", "の", "네", "न", "ये", "ไ", "ና", "של"])
def test_a_character_is_a_word_where_it_stands_for_a_syllable_or_more(text: str) -> None:
    assert has_word(text)


def test_stops_state_ask_or_exclaim() -> None:
    assert "".join(map(stop_kind, ".…。।؟？፧⁇‽!！‼՜")) == "....?????!!!!"


@given(st.text() | st.text("aeé한\u1112\u1161क\u093c\u0301\u0323\u0653"))
def test_letters_and_marks_have_one_form(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)


def test_a_long_row_of_marks_is_composed_in_time() -> None:
    with no_hang():  # the square of it would take minutes
        composed("e" + "\u0301\u0323" * 200_000)
