"""Words without their punctuation, and their links by attention."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.typography import french
from seq2seq.translation.text.units import links, units, units_of_pieces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("« L'avocat », dit-il.", ["L'", "avocat", "dit-il"]),
        ("Aujourd'hui, 12.5 % (à 12:30)", ["Aujourd'hui", "12.5", "à", "12:30"]),
        ("Fin.Début a/b", ["Fin", "Début", "a", "b"]),
        ("是的。ok", ["是", "的", "ok"]),
        ("e\u0301te\u0301 हिन्दी", ["e\u0301te\u0301", "हिन्दी"]),
        ("... !", []),
    ],
)
def test_words_keep_the_marks_inside_them(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in units(text)] == expected


@given(st.lists(st.sampled_from([*"ab1 '\"’«»:;!?.,-–%()\u00a0\u202f", "l'eau", "12:30"]), max_size=14).map("".join))
def test_typography_changes_no_number_of_words(text: str) -> None:
    assert len(units(french(text))) == len(units(text))


def test_pieces_belong_to_the_word_that_they_end_in() -> None:
    words = units("l'ami, é")
    assert units_of_pieces(words, [(0, 1), (1, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 7), (7, 8)]) == [
        0, 0, 1, 1, -1, -1, 2, 2
    ]  # fmt: skip


def test_each_word_is_linked_to_those_that_come_from_it_best_first() -> None:
    attention = np.array([[0.6, 0.1, 0.3], [0.5, 0.2, 0.2], [0.1, 0.1, 0.8], [0.2, 0.7, 0.0]])
    # Piece 2 of the source is a comma: what looks at it looks at a word, too.
    assert links(attention, [0, 1, -1], [0, 0, 1, 2]) == {0: [0, 1], 1: [2]}
    assert links(attention, [4, 5, 6], [0, 1, 2, 2]) == {4: [0, 1], 5: [2], 6: [2]}
    assert links(attention, [-1, -1, -1], [0, 1, 2, 3]) == {}
