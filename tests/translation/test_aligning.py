"""Words without their punctuation, and their links by attention."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.aligning import links, units_of_pieces
from seq2seq.translation.text.putting_back import units
from seq2seq.translation.text.typography import french


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
    assert [text[start:end] for start, end, _ in units(text)] == expected


@given(st.lists(st.sampled_from([*"ab1 '\"’«»:;!?.,-–%()\u00a0\u202f", "l'eau", "12:30"]), max_size=14).map("".join))
def test_typography_changes_no_number_of_words(text: str) -> None:
    assert len(units(french(text))) == len(units(text))


def test_pieces_belong_to_the_word_that_they_end_in() -> None:
    words = units("l'ami, é")
    assert units_of_pieces(words, [(0, 1), (1, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 7), (7, 8)]) == [
        *[range(1)] * 2, *[range(1, 2)] * 2, *[range(2, 2)] * 2, *[range(2, 3)] * 2
    ]  # fmt: skip
    assert units_of_pieces(units("看见面包。"), [(0, 3), (3, 4), (4, 5)]) == [range(3), range(3, 4), range(4, 4)]


def test_each_word_is_linked_to_those_that_come_from_it_best_first() -> None:
    attention = np.array([[0.6, 0.1, 0.3], [0.5, 0.2, 0.2], [0.1, 0.1, 0.8], [0.2, 0.7, 0.0]])
    # Piece 2 of the source is a comma: what looks at it looks at a word, too.
    none, *each = (range(max(0, n), n + 1) for n in range(-1, 7))
    assert links(attention, [each[0], each[1], none], [each[0], *each[:3]]) == {0: [0, 1], 1: [2]}
    assert links(attention, each[4:7], [*each[:3], each[2]]) == {4: [0, 1], 5: [2], 6: [2]}
    assert links(attention, [none] * 3, each[:4]) == {}
    # Of the source, pieces 0 and 1 are two words each; so are pieces 1 and 2 of the translation.
    found = links(attention, [range(2), range(2, 4), each[4]], [each[0], range(1, 3), range(3, 5), each[5]])
    assert found == {0: [0, 1, 2], 1: [0, 1, 2], 2: [5], 3: [5], 4: [3, 4]}
