"""What a decoder remembers between two steps of a search.

Keys and values are stored once for each sentence, not once for each hypothesis: those of the encoder, and those of the
past tokens of all hypotheses. A mask, the ancestry, says which past tokens belong to which hypothesis. To reorder a
beam is to reorder that mask; the cache does not move.

The number of places for tokens is a multiple of ROUND, and the mask hides the places that are still free. The reason is
that oneDNN compiles a kernel for each new shape, which takes longer than the product itself. When all places are
taken, tokens that belong to no hypothesis any more are dropped.

Shapes: B sentences, G n_kv_heads, N hypotheses, P past tokens of all hypotheses (rounded up), S source tokens,
K d_head, V d_value
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.model.masks import HIDDEN
from seq2seq.model.variants.patterns import Pattern

ROUND = 32


class KeyValueCache:
    """Keys and values of past tokens in one layer.

    Each step reads all places, also the free ones: a batched product would copy a slice first.
    """

    def __init__(self) -> None:
        self._stored: tuple[Tensor, Tensor] | None = None  # of keys (B, G, P, K) and of values (B, G, P, V)

    def write(self, k: Tensor, v: Tensor, place: int, length: int) -> tuple[Tensor, Tensor]:
        """Store new tokens, and return the keys (B, G, P, K) and values (B, G, P, V) of all places.

        Args:
            k: keys of the new tokens, (B, G, N, K).
            v: their values, (B, G, N, V).
            place: where the first of them goes.
            length: the number of places, P.
        """
        if self._stored is None:
            # Zeros, because a weight of 0 does not hide a NaN.
            self._stored = (
                k.new_zeros(*k.shape[:2], length, k.size(-1)),
                v.new_zeros(*v.shape[:2], length, v.size(-1)),
            )
        for buffer, new in zip(self._stored, (k, v), strict=True):
            buffer.narrow(2, place, new.size(2)).copy_(new)
        return self._stored

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, in this order; a sentence may come several times."""
        if self._stored is not None:  # else nothing is stored yet
            k, v = self._stored
            self._stored = k.index_select(0, sentences), v.index_select(0, sentences)

    def keep(self, places: Tensor) -> None:
        """Keep the tokens at these places, (B, P'), in this order. A place may come twice."""
        assert self._stored is not None
        k, v = self._stored
        sentences, heads, length, _ = k.shape
        # Rows of one matrix are several times as fast as `gather`, which copies number by number.
        first_rows = torch.arange(0, sentences * heads * length, length, device=places.device)
        rows = (first_rows.view(sentences, heads, 1) + places[:, None]).flatten()  # (B, G, P') -> (B G P')
        self._stored = _rows(k, rows), _rows(v, rows)


def _rows(buffer: Tensor, rows: Tensor) -> Tensor:
    """The rows with these numbers of all heads of all sentences: (B, G, P, K) -> (B, G, P', K)."""
    sentences, heads, _, d_head = buffer.shape
    return buffer.view(-1, d_head).index_select(0, rows).view(sentences, heads, -1, d_head)


@dataclass
class DecoderState:
    """What the decoder knows during a search over B sentences."""

    memory: list[tuple[Tensor, Tensor]]  # keys and values of each layer's cross-attention
    memory_mask: Tensor  # additive, (B, 1, 1, S)
    past: list[KeyValueCache]  # of each layer's self-attention
    ancestry: Tensor  # additive, (B, 1, N, P): which past tokens are a hypothesis's own
    pattern: Pattern | None  # of self-attention
    positions: Tensor  # where past tokens stand in their hypotheses, (B, P); counted only for a pattern
    n_past: int = 0  # tokens in the caches; the places after them are free, and hidden
    n_steps: int = 0  # tokens in each hypothesis

    def take_step(self, n_hypotheses: int) -> int:
        """Add one new token of each hypothesis, which only that hypothesis sees; returns the place of the first."""
        if self.n_past + n_hypotheses > self.ancestry.size(-1):
            self._compact(n_hypotheses)
        start = self.n_past
        self.n_past += n_hypotheses
        if self.pattern is not None:
            self.positions[:, start : self.n_past] = self.n_steps
        self.n_steps += 1
        self.ancestry[..., start : self.n_past].diagonal(dim1=-2, dim2=-1).zero_()
        return start

    def mask(self) -> Tensor:
        """Additive, (B, 1, N, P): the newest tokens see what is their hypothesis's own, and in the pattern."""
        if self.pattern is None:
            return self.ancestry
        is_outside = ~self.pattern.allows(self.n_steps - 1 - self.positions)  # (B, P)
        return self.ancestry.masked_fill(is_outside[:, None, None], HIDDEN)

    def reorder(self, parents: Tensor) -> None:
        """Make hypothesis n of sentence b a copy of hypothesis `parents[b, n]`; parents: (B, N)."""
        rows = parents[:, None, :, None].expand(-1, -1, -1, self.ancestry.size(-1))  # (B, 1, N, P)
        self.ancestry = self.ancestry.gather(2, rows)

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, in this order."""
        self.memory = [(k.index_select(0, sentences), v.index_select(0, sentences)) for k, v in self.memory]
        self.memory_mask = self.memory_mask.index_select(0, sentences)
        self.ancestry = self.ancestry.index_select(0, sentences)
        self.positions = self.positions.index_select(0, sentences)
        for past in self.past:
            past.select(sentences)

    def _compact(self, n_hypotheses: int) -> None:
        """Drop the tokens that belong to no hypothesis, or are out of reach, and add free places.

        The hypotheses of most beams share all but their latest tokens, so few tokens are left.
        """
        is_used = (self.ancestry == 0).any(2).squeeze(1)  # (B, P)
        n_free = n_hypotheses
        if self.pattern is not None and self.pattern.reach < math.inf:
            is_used &= self.n_steps - self.positions <= self.pattern.reach
            n_free = max(n_free, ROUND)  # a full window never has fewer tokens: free places for several steps
        n_used = int(is_used.sum(-1).max()) if self.n_past else 0
        length = -(-(n_used + n_free) // ROUND) * ROUND
        if self.n_past:
            places = is_used.byte().sort(dim=-1, descending=True, stable=True).indices[:, :length]  # (B, P')
            if places.size(-1) < length:
                places = torch.nn.functional.pad(places, (0, length - places.size(-1)))
            self.ancestry = self.ancestry.gather(3, places[:, None, None].expand(-1, -1, self.ancestry.size(2), -1))
            self.positions = self.positions.gather(1, places)
            for past in self.past:
                past.keep(places)
        else:
            self.ancestry = self.ancestry.new_empty((*self.ancestry.shape[:-1], length))
            self.positions = self.positions.new_zeros(len(self.positions), length)
        self.ancestry[..., n_used:] = HIDDEN
        self.n_past = n_used
