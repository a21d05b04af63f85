"""What a decoder remembers between two steps of a search.

Hypotheses of a sentence are rows of its queries, so nothing here is stored once a hypothesis: the encoder's
keys and values belong to the sentence, and so do those of all tokens that its hypotheses ever took. Which of
these tokens are a hypothesis's own is a mask, its ancestry. Reordering a beam moves that mask, not the cache.

Lengths are rounded up to multiples of ROUND, the mask hiding the rest: oneDNN compiles a kernel for each new shape,
which takes ten times as long as a step's product in it.

Shapes: B sentences, H n_heads, N hypotheses, P past tokens of all hypotheses (rounded up), S source tokens, K d_head
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.model.masks import HIDDEN

ROUND = 32
FORGET_EVERY = 8  # steps; each time costs about as much as the attention of one step


class KeyValueCache:
    """Keys and values of past tokens in one layer, with room for ROUND or fewer more.

    All of it is read in each step, free places included: of a slice, a batched product would first make a copy.
    """

    def __init__(self) -> None:
        self._room: Tensor | None = None  # (2, B, H, P, K)

    def write(self, keys: Tensor, values: Tensor, start: int, length: int) -> tuple[Tensor, Tensor]:
        """Put those of new tokens, (B, H, N, K) each, at place `start`; return all, (B, H, P, K) each, P = `length`."""
        if self._room is None or self._room.size(3) < length:
            self._grow(keys, length)
        assert self._room is not None
        end = start + keys.size(2)
        self._room[0, :, :, start:end] = keys
        self._room[1, :, :, start:end] = values
        k, v = self._room
        return k, v

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, in this order."""
        assert self._room is not None
        self._room = self._room.index_select(1, sentences)

    def keep(self, places: Tensor) -> None:
        """Keep the tokens at these places, (B, P'), in this order."""
        assert self._room is not None
        index = places[None, :, None, :, None].expand(2, -1, self._room.size(2), -1, self._room.size(4))
        self._room = self._room.gather(3, index)

    def _grow(self, like: Tensor, length: int) -> None:
        sentences, heads, _, d_head = like.shape
        n_used = 0 if self._room is None else self._room.size(3)
        # Zeros, since a weight of 0 does not hide a NaN.
        free = like.new_zeros(2, sentences, heads, length - n_used, d_head)
        self._room = free if self._room is None else torch.cat([self._room, free], dim=3)


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
        if self.n_steps % FORGET_EVERY == FORGET_EVERY - 1:
            self._forget()
        start = self.n_past
        self.n_past += n_hypotheses
        self.n_steps += 1
        if (missing := self.n_past - self.ancestry.size(-1)) > 0:
            more = self.ancestry.new_full((*self.ancestry.shape[:-1], _rounded(missing)), HIDDEN)
            self.ancestry = torch.cat([self.ancestry, more], dim=-1)
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

    def _forget(self) -> None:
        """Drop the tokens that no hypothesis descends from; most beams share all but their latest tokens."""
        is_used = (self.ancestry == 0).any(2).squeeze(1)  # (B, P)
        n_used = int(is_used.sum(-1).max())
        if (n_kept := _rounded(n_used)) >= self.ancestry.size(-1):
            return
        places = is_used.byte().sort(dim=-1, descending=True, stable=True).indices[:, :n_kept]  # (B, P')
        self.ancestry = self.ancestry.gather(3, places[:, None, None, :].expand(-1, -1, self.ancestry.size(2), -1))
        self.n_past = n_used
        for past in self.past:
            past.keep(places)


def _rounded(length: int) -> int:
    return -(-length // ROUND) * ROUND
