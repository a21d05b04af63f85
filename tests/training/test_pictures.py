import warnings

import numpy as np
import pytest

from seq2seq.training.pictures import picture_of, pictures_of
from seq2seq.training.validation import AttentionMap


def test_the_squares_of_a_picture_are_darker_where_there_is_more_attention():
    weights = np.array([[0.1, 0.9, 0.0], [0.5, 0.2, 0.3]], dtype=np.float32)
    attention = AttentionMap(4, ["▁ba", "be", "</s>"], ["▁bo", "</s>"], weights[None, None])
    before = picture_of(attention._replace(heads=0 * attention.heads)).astype(int)
    picture = picture_of(attention).astype(int)
    assert picture.shape == before.shape and picture.shape[2] == 3
    rows, columns = (np.flatnonzero((picture != before).any((2, other))) for other in (1, 0))
    assert len(rows) == 2 * 20 and len(columns) == 3 * 20
    top, left = rows[0], columns[0]
    darkness = 765 - picture[top + 10 : top + 50 : 20, left + 10 : left + 70 : 20].sum(2)
    assert (darkness.argsort(axis=None) == weights.argsort(axis=None)).all()
    # In grey, too: nobody needs to tell hues apart.
    assert np.all(np.diff(np.sort(darkness, axis=None)) > 10)


def test_the_picture_of_heads_has_a_matrix_for_each_in_its_place():
    heads = np.random.default_rng(1).random((3, 4, 5, 7), dtype=np.float32)
    found = AttentionMap(4, ["▁s"] * 7, ["▁t"] * 5, heads)
    pictures = pictures_of([found])
    assert list(pictures) == ["attention/line_5", "attention/line_5_heads"]
    expected = picture_of(found._replace(heads=heads[1:2, 2:3])).astype(int)
    blank = picture_of(found._replace(heads=0 * heads)).astype(int)
    top, left = (np.flatnonzero((expected != blank).any((2, other)))[0] for other in (1, 0))
    large = expected[top + 10 : top + 100 : 20, left + 10 : left + 140 : 20]  # the middle of each square of 20 pixels
    row, column = 30 + 1 * (5 * 4 + 10), 64 + 2 * (7 * 4 + 10)  # layer 2, head 3
    small = pictures["attention/line_5_heads"][row + 2 : row + 20 : 4, column + 2 : column + 28 : 4]
    assert (small == large).all()


@pytest.mark.parametrize("piece", ["$x^{", r"\frac", "日本", "<0x00>", ""])
def test_any_piece_is_a_label(piece):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = np.ones((1, 1), dtype=np.float32)
        assert picture_of(AttentionMap(0, [piece], [piece], weights[None, None])).size
