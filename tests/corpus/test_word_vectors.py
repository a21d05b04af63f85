"""Vectors of words, as three programs write them."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from seq2seq.corpus.word_vectors import read_word_vectors
from seq2seq.errors import CorpusError


def vectors(path: Path, text: str, *wanted: str) -> dict[str, list[float]]:
    path.write_bytes(text.encode())
    return {word: vector.tolist() for word, vector in read_word_vectors(path, wanted).items()}


def test_only_wanted_words_are_read_and_the_first_of_two_counts(tmp_path: Path) -> None:
    text = "3 2\nle 1 2.5\nchat -1 0\nle 9 9\n"
    assert vectors(tmp_path / "a.vec", text, "le", "chien") == {"le": [1, 2.5]}


def test_a_file_without_counts_keeps_its_first_word(tmp_path: Path) -> None:
    assert vectors(tmp_path / "a.txt", "le 1 2\nchat 3 4\n", "le", "chat") == {"le": [1, 2], "chat": [3, 4]}


def test_a_number_can_be_a_word(tmp_path: Path) -> None:
    assert vectors(tmp_path / "a.vec", "2 3\n1984 1 2 3\n", "2", "1984") == {"1984": [1, 2, 3]}


def test_spaces_at_the_end_and_inside_a_word(tmp_path: Path) -> None:
    # fastText ends its lines with a space, and GloVe has such words.
    assert vectors(tmp_path / "a.vec", "le 1 2 \n. . . 3 4 \n", "le", ". . .") == {"le": [1, 2], ". . .": [3, 4]}


def test_a_space_that_is_no_break_is_part_of_a_word(tmp_path: Path) -> None:
    assert vectors(tmp_path / "a.vec", "10\u00a0000 1 2\n", "10\u00a0000") == {"10\u00a0000": [1, 2]}


def test_compressed_files_and_words_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.vec.gz"
    path.write_bytes(gzip.compress(b"\xff\xfe 1 2\nle 3 4\n"))
    np.testing.assert_equal(read_word_vectors(path, {"le"}), {"le": np.array([3, 4], dtype=np.float32)})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("le 1 2\nchat 3\n", 2),  # also if nobody wants it: all that follows could be shifted
        ("le 1 x\n", 1),
        ("le 1 nan\n", 1),
        ("le\n", 1),
        ("le 1 2\n\n", 2),
    ],
)
def test_other_content_is_told_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "a.vec"
    with pytest.raises(CorpusError, match=rf"a\.vec:{line}: .* is not a word and .* numbers; give a text file"):
        vectors(path, text, "le")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.vec"):
        read_word_vectors(tmp_path / "none.vec", {"le"})
