"""What a decoder remembers between two steps of a search.

Hypotheses of a sentence are rows of its queries, so nothing here is stored once a hypothesis: the encoder's
keys and values belong to the sentence, and so do those of all tokens that its hypotheses ever took. Which of
these tokens are a hypothesis's own is a mask, its ancestry. Reordering a beam moves that mask, not the cache.

Shapes: B sentences, H n_heads, N hypotheses, P past tokens of all hypotheses, S source tokens, K d_head
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.model.masks import additive


class KeyValueCache:
    """Keys and values of past tokens in one layer, in memory that grows by doubling."""

    def __init__(self) -> None:
        self._room: Tensor | None = None  # (2, B, H, at least P, K)
        self._length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of new tokens, (B, H, N, K) each; return all, (B, H, P, K) each."""
        start, self._length = self._length, self._length + keys.size(2)
        if self._room is None or self._room.size(3) < self._length:
            self._grow(keys, start)
        assert self._room is not None
        self._room[0, :, :, start : self._length] = keys
        self._room[1, :, :, start : self._length] = values
        k, v = self._room[..., : self._length, :]
        return k, v

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, in this order."""
        assert self._room is not None
        self._room = self._room.index_select(1, sentences)

    def _grow(self, like: Tensor, used: int) -> None:
        sentences, heads, _, d_head = like.shape
        room = like.new_empty(2, sentences, heads, max(2 * self._length, 32), d_head)
        if self._room is not None:
            room[..., :used, :] = self._room[..., :used, :]
        self._room = room


@dataclass
class DecoderState:
    """The decoder's side of a search over B sentences."""

    memory: list[tuple[Tensor, Tensor]]  # keys and values of each layer's cross-attention, (B, H, S, K)
    memory_mask: Tensor  # additive, (B, 1, 1, S)
    past: list[KeyValueCache]  # of each layer's self-attention
    ancestry: Tensor  # additive, (B, 1, N, P): which past tokens are a hypothesis's own
    n_steps: int  # tokens in each hypothesis

    def take_step(self, n_hypotheses: int) -> None:
        """Make room in the ancestry for one new token of each hypothesis, seen by that hypothesis alone."""
        n_sentences = len(self.ancestry)
        own = additive(torch.eye(n_hypotheses, dtype=torch.bool, device=self.ancestry.device))
        own = own.expand(n_sentences, 1, -1, -1)  # (N, N) -> (B, 1, N, N)
        self.ancestry = torch.cat([self.ancestry, own], dim=-1)
        self.n_steps += 1

    def reorder(self, parents: Tensor) -> None:
        """Make hypothesis n of sentence b a copy of hypothesis `parents[b, n]`; parents: (B, N)."""
        n_past = self.ancestry.size(-1)
        rows = parents[:, None, :, None].expand(-1, -1, -1, n_past)  # (B, 1, N, P)
        self.ancestry = self.ancestry.gather(2, rows)

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, in this order."""
        self.memory = [(k.index_select(0, sentences), v.index_select(0, sentences)) for k, v in self.memory]
        self.memory_mask = self.memory_mask.index_select(0, sentences)
        self.ancestry = self.ancestry.index_select(0, sentences)
        for past in self.past:
            past.select(sentences)
