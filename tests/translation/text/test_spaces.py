"""Spaces and unseen characters as training had them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.rewriting import space_edits


def with_spaces_of(training: dict[str, float], text: str) -> str:
    edits = space_edits(text, lambda character: training.get(character, 0.0))
    return Text.of(text).edited(edits).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("un\u00a0chat\u202f!", "un chat !"),
        ("un  chat   noir", "un chat noir"),
        ("un\tchat \u2009noir", "un chat noir"),
        ("cha\u00adton no\u200bir", "chaton noir"),
        ("\ufeffun chat\u200e", "un chat"),
        ("un\u200b chat", "un chat"),
        ("x\u00ad \u00ady", "x y"),
        ("un\x07 chat\x00", "un chat"),
        ("fi\u200cn", "fin"),
    ],
)
def test_odd_spaces_become_plain_ones(text: str, expected: str) -> None:
    assert with_spaces_of({}, text) == expected


@pytest.mark.parametrize(
    ("training", "text"),
    [
        ({}, "un chat noir"),
        ({"\u00a0": 0.01}, "un chat\u00a0!"),  # training had them
        ({}, "می\u200cخواهم"),  # without the joiner it is another word
        ({}, "क्\u200dष"),
        ({}, "👩\u200d👧 \u2764\ufe0f"),
        ({}, "Un chat dort.   Un chien court."),  # the model does not read what is between sentences
        ({}, "   un chat  "),
    ],
)
def test_spaces_that_training_had_or_that_mean_something_stay(training: dict[str, float], text: str) -> None:
    assert with_spaces_of(training, text) == text


# Without stops: when unseen characters are gone, sentences may end elsewhere.
@given(st.text("abA \u00a0\u00ad\u200b\t\u202f\ufeff", max_size=20))
def test_twice_is_once_and_letters_stay(text: str) -> None:
    once = with_spaces_of({}, text)
    assert with_spaces_of({}, once) == once
    assert [each for each in once if each in "abA"] == [each for each in text if each in "abA"]
