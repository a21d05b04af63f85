import warnings

import numpy as np
import pytest

from seq2seq.training.attention_maps import AttentionMap
from seq2seq.training.pictures import picture_of


def test_the_squares_of_a_picture_are_darker_where_there_is_more_attention():
    weights = np.array([[0.1, 0.9, 0.0], [0.5, 0.2, 0.3]], dtype=np.float32)
    attention = AttentionMap(4, ["▁ba", "be", "</s>"], ["▁bo", "</s>"], weights)
    before = picture_of(attention._replace(weights=0 * weights)).astype(int)
    picture = picture_of(attention).astype(int)
    assert picture.shape == before.shape and picture.shape[2] == 3
    rows, columns = (np.flatnonzero((picture != before).any((2, other))) for other in (1, 0))
    assert len(rows) == 2 * 20 and len(columns) == 3 * 20
    top, left = rows[0], columns[0]
    darkness = 765 - picture[top + 10 : top + 50 : 20, left + 10 : left + 70 : 20].sum(2)
    assert (darkness.argsort(axis=None) == weights.argsort(axis=None)).all()
    # In grey, too: nobody needs to tell hues apart.
    assert np.all(np.diff(np.sort(darkness, axis=None)) > 10)


@pytest.mark.parametrize("piece", ["$x^{", r"\frac", "日本", "<0x00>", ""])
def test_any_piece_is_a_label(piece):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = np.ones((1, 1), dtype=np.float32)
        assert picture_of(AttentionMap(0, [piece], [piece], weights)).size
