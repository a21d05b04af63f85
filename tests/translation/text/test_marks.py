"""Marks that a writer may leave out, as training had them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.rewriting import mark_edits


def with_marks_of(training: str, text: str) -> str:
    def share(character: str) -> float:
        return float(character in training or (character.isalpha() and character not in "ـڭ"))

    return Text.of(text).edited(mark_edits(text, share)).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("كَتَبَ الوَلَدُ", "كتب الولد"),
        ("هٰذا مُحَمَّدٌ", "هذا محمد"),
        ("مرحبـــــا", "مرحبا"),
        ("שָׁלוֹם", "שלום"),
        ("בְּרֵאשִׁ֖ית", "בראשית"),
        ("за́мок и замо́к", "замок и замок"),
        ("Украї́на", "Україна"),
    ],
)
def test_vowel_signs_points_and_stress_go(text: str, expected: str) -> None:
    assert with_marks_of("", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "नली में पानी",
        "น้ำไทย",
        "ñandú tiếng Việt, c'était",
        "ώρα",
        "йод ёлка",
        unicodedata.normalize("NFD", "йод ёлка été"),
        "آدم أمر مؤمن",
        unicodedata.normalize("NFD", "آدم أمر مؤمن"),
        "မြန်မာ ភាសាខ្មែរ",
        "がぎぐ",
    ],
)
def test_marks_that_make_another_letter_stay(text: str) -> None:
    assert with_marks_of("", text) == text


def test_marks_that_training_had_stay() -> None:
    assert with_marks_of("\u064b\u0651", "مُحَمَّدًا") == "محمّدًا"
    assert with_marks_of("\u0301", "замо́к") == "замо́к"


def test_a_word_that_is_taken_out_keeps_its_marks() -> None:
    assert with_marks_of("", "كَتَبَ ڭَتَبَ") == "كتب ڭَتَبَ"


@given(st.text())
def test_only_marks_and_the_tatweel_go(text: str) -> None:
    found = with_marks_of("", text)
    assert with_marks_of("", found) == found
    kept = [c for c in text if not unicodedata.category(c).startswith("M") and c != "ـ"]
    assert [c for c in found if not unicodedata.category(c).startswith("M")] == kept
