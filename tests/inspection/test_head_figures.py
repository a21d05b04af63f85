"""Figures of heads with weights whose answers are known, and what must hold for any weights.

Shapes: B sentences, H n_heads, T queries, S keys
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from seq2seq.inspection.head_figures import FigureSums

NONE = torch.zeros(1, 5, dtype=torch.bool)


def figures(weights: Tensor) -> dict[str, float]:
    """Of a single head with weights (T, S), whose queries are all tokens."""
    sums = FigureSums(n_layers=1)
    sums.add([weights[None, None]], torch.ones(1, len(weights), dtype=torch.bool), NONE, NONE)
    return {name: found.item() for name, found in sums.means().items()}


def test_a_head_that_looks_everywhere_alike() -> None:
    found = figures(torch.full((5, 5), 0.2))
    assert found["entropy"] == pytest.approx(math.log2(5))
    assert found["distance"] == pytest.approx((10 + 7 + 6 + 7 + 10) / 25)  # of |i - j|, row by row
    assert found["self"] == pytest.approx(0.2)
    assert found["previous"] == found["next"] == pytest.approx(0.2 * 4 / 5)  # the first has none before it


@pytest.mark.parametrize(
    ("offset", "name", "distance"), [(0, "self", 0), (-1, "previous", 4 / 5), (1, "next", 4 / 5), (2, "", 6 / 5)]
)
def test_a_head_that_looks_at_one_place(offset: int, name: str, distance: float) -> None:
    weights = torch.diag(torch.ones(5 - abs(offset)), offset)
    found = figures(weights)
    assert found["distance"] == pytest.approx(distance)
    assert found["entropy"] == 0
    share = (5 - abs(offset)) / 5
    assert {each: found[each] for each in ("self", "previous", "next")} == {
        each: pytest.approx(share if each == name else 0) for each in ("self", "previous", "next")
    }


def test_layers_and_heads_stay_apart() -> None:
    sums = FigureSums(n_layers=2)
    eye, back = torch.eye(3), torch.diag(torch.ones(2), -1)
    queries = torch.ones(1, 3, dtype=torch.bool)
    sums.add([torch.stack([eye, back])[None], torch.stack([back, eye])[None]], queries, NONE[:, :3], NONE[:, :3])
    assert sums.means()["self"].tolist() == [[1, 0], [0, 1]]


Sentence = tuple[Tensor, Tensor, Tensor]  # weights (H, T, S), ends (S,), punctuation (S,)


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    n_queries, n_keys = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    seed = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    weights = torch.randn(3, n_queries, n_keys, generator=seed).mul(3).softmax(-1)
    ends, punctuation = (torch.rand(n_keys, generator=seed) < 0.3 for _ in range(2))
    return weights, ends, punctuation


def batched(rows: list[Sentence], padding: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Padded to the longest and by `padding` more, with nonsense in the rows of queries that are padding."""
    n_queries, n_keys = (max(row[0].size(dim) for row in rows) + padding for dim in (1, 2))
    weights = torch.full((len(rows), 3, n_queries, n_keys), 0.0)
    queries = torch.zeros(len(rows), n_queries, dtype=torch.bool)
    ends, punctuation = (torch.zeros(len(rows), n_keys, dtype=torch.bool) for _ in range(2))
    for i, (each, is_end, is_mark) in enumerate(rows):
        weights[i, :, each.size(1) :] = 1 / n_keys
        weights[i, :, : each.size(1), : each.size(2)] = each
        queries[i, : each.size(1)] = True
        ends[i, : each.size(2)], punctuation[i, : each.size(2)] = is_end, is_mark
    return weights, queries, ends, punctuation


@settings(max_examples=30)
@given(rows=st.lists(sentences(), min_size=1, max_size=5), padding=st.integers(0, 3))
def test_shares_are_shares_and_batches_and_padding_change_nothing(rows: list[Sentence], padding: int) -> None:
    together, alone = FigureSums(1), FigureSums(1)
    weights, *rest = batched(rows, padding)
    together.add([weights], *rest)
    for row in rows:
        weights, *rest = batched([row], 0)
        alone.add([weights], *rest)
    for name, found in together.means().items():
        assert found == pytest.approx(alone.means()[name], abs=1e-6)
        assert (found >= 0).all()
        if name not in ("entropy", "distance"):
            assert (found <= 1 + 1e-6).all()
