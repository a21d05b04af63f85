"""Where a head looks, in numbers: sums over the queries of batches, so that memory does not grow with the text.

Shapes: B sentences, H n_heads, T queries, S keys, F figures
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Means over all queries, eos and bos counted and padding not:
#   entropy      of a row of weights, in bits: 0 if the head looks at one token, log2(n) if at n tokens alike
#   distance     in tokens, between the place of the query and those it looks at, by weight
#   self         the share of the weight on the query's own place; in cross-attention, the same place of the source
#   previous     on the place before it
#   next         on the place after it
#   ends         on bos, eos and tags, which stand for no text
#   punctuation  on pieces that are marks only
FIGURES = ("entropy", "distance", "self", "previous", "next", "ends", "punctuation")


class FigureSums:
    """The figures of all heads of one kind, as sums."""

    def __init__(self, n_layers: int) -> None:
        self._sums: list[Tensor | int] = [0] * n_layers  # of each layer, (F, H)
        self._n_queries = 0

    def add(self, weights: Sequence[Tensor], queries: Tensor, ends: Tensor, punctuation: Tensor) -> None:
        """Count one batch.

        Args:
            weights: of each layer, (B, H, T, S).
            queries: True where a query is a token, (B, T).
            ends, punctuation: True where a key is one, (B, S).
        """
        self._n_queries += int(queries.sum())
        for layer, each in enumerate(weights):
            self._sums[layer] = self._sums[layer] + _sums(each, queries, ends, punctuation)

    def means(self) -> dict[str, NDArray[np.float64]]:
        """Each figure of each layer and head, (layers, H)."""
        assert self._n_queries
        found = np.stack([np.asarray(sums) for sums in self._sums]) / self._n_queries  # (layers, F, H)
        return {name: found[:, number] for number, name in enumerate(FIGURES)}


def _sums(weights: Tensor, queries: Tensor, ends: Tensor, punctuation: Tensor) -> Tensor:
    """Sums over all queries of a batch, (F, H)."""
    weights = weights.double()
    n_queries, n_keys = weights.shape[2:]
    places = torch.arange(max(n_queries, n_keys), device=weights.device)
    distance = (places[:n_queries, None] - places[:n_keys]).abs().double()  # (T, S)
    rows = [
        torch.special.entr(weights).sum(-1) / np.log(2),
        (weights * distance).sum(-1),
        *(_on_diagonal(weights, offset) for offset in (0, -1, 1)),
        *((weights * keys[:, None, None, :]).sum(-1) for keys in (ends, punctuation)),
    ]  # each (B, H, T)
    return torch.einsum("fbht,bt->fh", torch.stack(rows), queries.double()).cpu()


def _on_diagonal(weights: Tensor, offset: int) -> Tensor:
    """The weight of each query on the key `offset` places after its own; 0 where there is none. (B, H, T)."""
    on_it = torch.zeros_like(weights[..., 0])
    found = weights.diagonal(offset, -2, -1)
    on_it[..., max(0, -offset) :][..., : found.size(-1)] = found
    return on_it
