"""What a decoder remembers between two steps of a search.

Hypotheses of a sentence are rows of its queries, so nothing here is stored once a hypothesis: the encoder's
keys and values belong to the sentence, and so do those of all tokens that its hypotheses ever took. Which of
these tokens are a hypothesis's own is a mask, its ancestry. Reordering a beam moves that mask, not the cache.

The places for tokens are a multiple of ROUND, those still free hidden by the mask: oneDNN compiles a kernel for each
new shape, which takes longer than a step's product in it. When they are full, the tokens that no hypothesis
descends from any more give up theirs.

Shapes: B sentences, H n_heads, N hypotheses, P past tokens of all hypotheses (rounded up), S source tokens, K d_head
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.model.masks import HIDDEN

ROUND = 32


class KeyValueCache:
    """Keys and values of past tokens in one layer.

    All of it is read in each step, free places included: of a slice, a batched product would first make a copy.
    """

    def __init__(self) -> None:
        self._room: Tensor | None = None  # (2, B, H, P, K)

    def write(self, keys_values: Tensor, place: int, length: int) -> tuple[Tensor, Tensor]:
        """Put those of new tokens, (2, B, H, N, K), from `place` on; return all, (B, H, P, K) each, P = `length`."""
        if self._room is None:
            two, sentences, heads, _, d_head = keys_values.shape
            # Zeros, since a weight of 0 does not hide a NaN.
            self._room = keys_values.new_zeros(two, sentences, heads, length, d_head)
        self._room.narrow(3, place, keys_values.size(3)).copy_(keys_values)
        k, v = self._room.unbind()
        return k, v

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, in this order."""
        assert self._room is not None
        self._room = self._room.index_select(1, sentences)

    def keep(self, places: Tensor) -> None:
        """Keep the tokens at these places, (B, P'), in this order; a place may be taken twice."""
        assert self._room is not None
        two, sentences, heads, length, d_head = self._room.shape
        # As rows of one matrix: several times as fast as `gather`, which copies number by number.
        first = torch.arange(0, two * sentences * heads * length, length, device=places.device)
        rows = first.view(two, sentences, heads, 1) + places[:, None]  # (2, B, H, P')
        kept = self._room.view(-1, d_head).index_select(0, rows.flatten())
        self._room = kept.view(two, sentences, heads, -1, d_head)


@dataclass
class DecoderState:
    """The decoder's side of a search over B sentences."""

    memory: list[tuple[Tensor, Tensor]]  # keys and values of each layer's cross-attention, (B, H, S, K)
    memory_mask: Tensor  # additive, (B, 1, 1, S)
    past: list[KeyValueCache]  # of each layer's self-attention
    ancestry: Tensor  # additive, (B, 1, N, P): which past tokens are a hypothesis's own
    n_past: int = 0  # tokens in the caches; the places from here to P are free, and hidden
    n_steps: int = 0  # tokens in each hypothesis

    def take_step(self, n_hypotheses: int) -> int:
        """Make room for one new token of each hypothesis, seen by that hypothesis alone; where it begins."""
        if self.n_past + n_hypotheses > self.ancestry.size(-1):
            self._make_room(n_hypotheses)
        start = self.n_past
        self.n_past += n_hypotheses
        self.n_steps += 1
        self.ancestry[..., start : self.n_past].diagonal(dim1=-2, dim2=-1).zero_()
        return start

    def reorder(self, parents: Tensor) -> None:
        """Make hypothesis n of sentence b a copy of hypothesis `parents[b, n]`; parents: (B, N)."""
        rows = parents[:, None, :, None].expand(-1, -1, -1, self.ancestry.size(-1))  # (B, 1, N, P)
        self.ancestry = self.ancestry.gather(2, rows)

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, in this order."""
        self.memory = [(k.index_select(0, sentences), v.index_select(0, sentences)) for k, v in self.memory]
        self.memory_mask = self.memory_mask.index_select(0, sentences)
        self.ancestry = self.ancestry.index_select(0, sentences)
        for past in self.past:
            past.select(sentences)

    def _make_room(self, n_hypotheses: int) -> None:
        """Drop the tokens that no hypothesis descends from, and add free places.

        Most beams share all but their latest tokens, so that there is mostly little left.
        """
        is_used = (self.ancestry == 0).any(2).squeeze(1)  # (B, P)
        n_used = int(is_used.sum(-1).max()) if self.n_past else 0
        length = -(-(n_used + n_hypotheses) // ROUND) * ROUND
        if self.n_past:
            places = is_used.byte().sort(dim=-1, descending=True, stable=True).indices[:, :length]  # (B, P')
            if places.size(-1) < length:
                places = torch.nn.functional.pad(places, (0, length - places.size(-1)))
            self.ancestry = self.ancestry.gather(3, places[:, None, None].expand(-1, -1, self.ancestry.size(2), -1))
            for past in self.past:
                past.keep(places)
        else:
            self.ancestry = self.ancestry.new_empty((*self.ancestry.shape[:-1], length))
        self.ancestry[..., n_used:] = HIDDEN
        self.n_past = n_used
