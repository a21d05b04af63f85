"""A model that scores the next token by a hash of the source and the whole prefix, and checks its caller.

A search that reorders or drops the wrong states gets other scores from it. Shapes as in the protocol.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from seq2seq.vocabulary import BOS, EOS, PAD

SOURCES = ((4, 5, 6), (5,), (6, 6, 4, 5, 4), (4, 4), (5, 4, 6))
MODULUS = 2**31
Integers = TypeVar("Integers", int, Tensor)


def mix(state: Integers, value: Integers | int) -> Integers:
    """One step of a hash, the same for Python integers and for int64 tensors."""
    state = (state * 1103515245 + value * 69069 + 12345) % MODULUS
    state = state ^ (state >> 15)
    state = (state * 1566083941 + 1) % MODULUS
    return state ^ (state >> 13)


@dataclass
class ToyState:
    hashes: Tensor  # (B, K), of source and prefix
    steps_left: int
    used: bool = False

    def use(self) -> Tensor:
        assert not self.used, "an old state was used again"
        self.used = True
        return self.hashes


class ToyModel:
    """Logits uniform in [-scale, scale], with `eos_bonus` added to that of eos."""

    def __init__(
        self,
        seed: int,
        n_ids: int,
        scale: float = 3.0,
        eos_bonus: float = 0.0,
        special_bonus: float = 100.0,  # what must never be generated looks best
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.seed, self.n_ids, self.scale, self.eos_bonus, self.dtype = seed, n_ids, scale, eos_bonus, dtype
        self.special_bonus = special_bonus
        self.n_steps = 0  # of the last batch
        self.n_announced = 0  # steps, by its start
        self.batches: list[tuple[int, int]] = []  # sentences and longest source of each
        self.next_logits = functools.cache(self._next_logits)
        self.next_log_probs = functools.cache(self._next_log_probs)

    def source_hash(self, source: Sequence[int]) -> int:
        """Of a source without eos and pad."""
        return functools.reduce(mix, source, self.seed)

    def _next_logits(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> list[float]:
        """By the definition, in float64: of each id after a prefix without bos."""
        state = functools.reduce(mix, (BOS, *prefix), self.source_hash(source))
        hashes = torch.tensor([mix(mix(state, token), 5) for token in range(self.n_ids)], dtype=torch.float64)
        logits = (hashes / MODULUS * 2 - 1) * self.scale
        logits[EOS] += self.eos_bonus
        logits[:EOS] += self.special_bonus
        return logits.to(self.dtype).tolist()

    def _next_log_probs(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> dict[int, float]:
        """Of the tokens that may follow a prefix without bos."""
        allowed = range(EOS if prefix else EOS + 1, self.n_ids)
        logits = torch.tensor(self.next_logits(source, prefix), dtype=torch.float64)[allowed.start :]
        return dict(zip(allowed, logits.log_softmax(0).tolist(), strict=True))

    def start(self, src: Tensor, max_length: int) -> ToyState:
        self.batches.append((src.shape[0], src.shape[1]))
        self.n_steps = 0
        self.n_announced = max_length
        hashes = []
        for row in src.tolist():
            source = row[: row.index(EOS)]
            assert source and PAD not in source and set(row[len(source) + 1 :]) <= {PAD}
            hashes.append([self.source_hash(source)])
        return ToyState(torch.tensor(hashes, device=src.device), max_length)

    def step(self, state: ToyState, tokens: Tensor) -> tuple[Tensor, ToyState]:
        assert tokens.shape == state.hashes.shape
        assert state.steps_left > 0, "more steps than announced"
        assert self.n_steps or (tokens.shape[1] == 1 and (tokens == BOS).all())
        self.n_steps += 1
        hashes = mix(state.use(), tokens)  # (B, K)
        ids = torch.arange(self.n_ids, device=tokens.device)
        logits = (mix(mix(hashes.unsqueeze(-1), ids), 5).double() / MODULUS * 2 - 1) * self.scale
        logits[..., EOS] += self.eos_bonus
        logits[..., :EOS] += self.special_bonus
        return logits.to(self.dtype), ToyState(hashes, state.steps_left - 1)

    def reorder(self, state: ToyState, parents: Tensor) -> ToyState:
        n_before = state.hashes.shape[1]
        same = torch.arange(parents.shape[1], device=parents.device).expand_as(parents)
        assert parents.shape[1] != n_before or not parents.equal(same), "a reorder that changes nothing"
        assert len(parents) == len(state.hashes)
        return ToyState(state.use().gather(1, parents), state.steps_left)

    def select(self, state: ToyState, sentences: Tensor) -> ToyState:
        assert (sentences.diff() >= 0).all(), "not in ascending order"
        assert 0 < len(sentences) != len(state.hashes), "a selection that changes nothing"
        return ToyState(state.use()[sentences], state.steps_left)


class FixedLogits:
    """The same logits whatever the prefix."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits)

    def start(self, src: Tensor, max_length: int) -> None:
        return None

    def step(self, state: None, tokens: Tensor) -> tuple[Tensor, None]:
        return self.logits.repeat(*tokens.shape, 1), None

    def reorder(self, state: None, parents: Tensor) -> None:
        return None

    def select(self, state: None, sentences: Tensor) -> None:
        return None
