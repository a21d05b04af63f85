"""Nearest words and the plane of a picture, with vectors whose answers are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.errors import TranslationError
from seq2seq.inspection.neighbours import cosine, nearest, rows_of, vector_of
from seq2seq.inspection.vector_picture import project
from seq2seq.inspection.vectors import LineVectors


def line(text: str, *vectors: tuple[float, ...]) -> LineVectors:
    words = text.split()
    return LineVectors(text, words, np.arange(len(words), dtype=np.int32), np.array(vectors, dtype=np.float32))


OWN = line("The bank, the BANK", (1, 0), (1, 1), (0, 1), (2, 5))


def test_a_word_is_found_without_case_and_marks() -> None:
    assert vector_of("Bank", OWN).tolist() == [1, 1]
    assert rows_of("bank", OWN) == [1, 3]
    with pytest.raises(TranslationError, match="'The bank, the BANK' has no word 'river'; its words are: The, bank,"):
        vector_of("river", OWN)


def test_the_nearest_words_come_first_and_equal_lines_count_once() -> None:
    text = [
        OWN,
        line("far near", (1, -1), (2, 2.1)),
        line("", *()),
        line("nearer", (5, 5)),
        line("nearer", (5, 5)),
        line("opposite zero", (-1, -1), (0, 0)),
    ]
    found = nearest(np.array([1.0, 1.0], dtype=np.float32), text, 3, own=OWN.text)
    assert [(each.text, each.line, each.place) for each in found] == [
        ("nearer", 3, 0), ("far near", 1, 1), ("far near", 1, 0)
    ]  # fmt: skip
    assert found[0].cosine == pytest.approx(1.0)
    assert found[1].cosine == pytest.approx(4.1 / (2**0.5 * (4 + 2.1**2) ** 0.5))


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), n=st.integers(1, 6))
def test_it_finds_what_sorting_everything_finds(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    text = [line(f"{i}a {i}b {i}c", *rng.normal(size=(3, 4))) for i in range(5)]
    vector = rng.normal(size=4).astype(np.float32)
    everything = [
        (float(c), i, row) for i, each in enumerate(text) for row, c in enumerate(cosine(each.vectors, vector))
    ]
    found = nearest(vector, text, n, own="")
    assert [(each.line, each.place) for each in found] == [
        (i, row) for _, i, row in sorted(everything, reverse=True)[:n]
    ]


def test_points_of_a_plane_keep_their_distances() -> None:
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(7, 2)) * [3, 1]
    basis, _ = np.linalg.qr(rng.normal(size=(5, 2)))
    points, shares = project((plane @ basis.T + 4).astype(np.float32))
    assert shares.sum() == pytest.approx(1.0) and shares[0] > shares[1]
    found, expected = (np.linalg.norm(each[:, None] - each, axis=-1) for each in (points, plane))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_single_vector_has_a_place_too() -> None:
    points, shares = project(np.ones((1, 5), dtype=np.float32))
    assert points.tolist() == [[0, 0]] and shares.tolist() == [0, 0]
