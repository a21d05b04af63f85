import numpy as np
import pytest

from seq2seq.text.alignment import pharaoh, word_alignment, words_of_pieces


def test_pieces_belong_to_words():
    assert words_of_pieces(["le", "▁ch", "at", "▁", "<0xC3>", "<0xA9>", "▁b"]) == [0, 1, 1, 2, 2, 2, 3]


def test_a_last_space_begins_no_word():
    assert words_of_pieces(["▁a", "▁b", "▁"]) == [0, 1, 1]


def test_the_source_word_with_most_mass_is_linked():
    attention = np.array([[0.4, 0.3, 0.3], [0.9, 0.1, 0.0]])
    assert word_alignment(attention, ["▁a", "▁b", "c"], ["▁x", "▁y"]) == [(0, 1), (1, 0)]


def test_another_shape_is_refused():
    with pytest.raises(ValueError, match="leave out the special ids"):
        word_alignment(np.ones((2, 3)), ["▁a"], ["▁x", "▁y"])


def test_pharaoh_sorts_by_source():
    assert pharaoh([(1, 0), (0, 1)]) == "0-1 1-0"
