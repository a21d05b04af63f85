import warnings

import numpy as np
import pytest

from seq2seq.reports import style
from seq2seq.training.pictures import picture_of, pictures_of
from seq2seq.training.validation import AttentionMap


def test_the_squares_of_a_picture_are_darker_where_there_is_more_attention():
    weights = np.array([[0.1, 0.9, 0.05], [0.5, 0.2, 0.3]], dtype=np.float32)
    attention = AttentionMap(4, ["▁ba", "be", "</s>"], ["▁bo", "</s>"], weights[None, None])
    before = picture_of(attention._replace(heads=0 * attention.heads)).astype(int)
    picture = picture_of(attention).astype(int)
    assert picture.shape == before.shape and picture.shape[2] == 3
    rows, columns = (np.flatnonzero((picture != before).any((2, other))) for other in (1, 0))
    height, width = len(rows) / 2, len(columns) / 3
    middles = np.ix_(*((first + (np.arange(n) + 0.5) * size).astype(int)
                       for first, n, size in ((rows[0], 2, height), (columns[0], 3, width))))  # fmt: skip
    darkness = 765 - picture[middles].sum(2)
    assert (darkness.argsort(axis=None) == weights.argsort(axis=None)).all()
    # In grey, too: nobody needs to tell hues apart.
    assert np.all(np.diff(np.sort(darkness, axis=None)) > 5)


def test_the_picture_of_heads_has_a_matrix_for_each_in_its_place():
    heads = np.random.default_rng(1).random((3, 4, 5, 7), dtype=np.float32)
    pictures = pictures_of([AttentionMap(4, ["▁s"] * 7, ["▁t"] * 5, heads)])
    assert list(pictures) == ["attention/line_5", "attention/line_5_heads"]
    small = pictures["attention/line_5_heads"].astype(int)[::4, ::4]  # a pixel for each token
    assert small.shape == (3 * 6, 4 * 8, 3)
    darkness = 765 - small[6:11, 16:23].sum(2)  # layer 2, head 3
    sure = np.abs(heads[1, 2].reshape(-1, 1) - heads[1, 2].reshape(1, -1)) > 0.02
    is_darker = darkness.reshape(-1, 1) > darkness.reshape(1, -1)
    assert (is_darker == (heads[1, 2].reshape(-1, 1) > heads[1, 2].reshape(1, -1)))[sure].all()


@pytest.mark.parametrize("piece", ["$x^{", r"\frac", "日本", "<0x00>", ""])
def test_any_piece_is_a_label(piece):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = np.ones((1, 1), dtype=np.float32)
        assert picture_of(AttentionMap(0, [piece], [piece], weights[None, None])).size


def test_boxes_in_place_of_letters_are_said(caplog):
    style._say_once.cache_clear()
    picture_of(AttentionMap(0, ["ไทย"], ["ba"], np.ones((1, 1, 1, 1), dtype=np.float32)))
    assert "the font of pictures lacks letters of this text, and boxes stand for them" in caplog.text
