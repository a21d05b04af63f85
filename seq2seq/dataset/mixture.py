"""How often an epoch repeats each training source, and which pairs it holds.

A small source is rare among large ones. A *temperature* T >= 1 (Arivazhagan et al. 2019) gives a source of n pairs a
share of the epoch in proportion to n ** (1 / T): T = 1 changes nothing, T = 100 makes all shares about equal. In the
paper this is the probability of a random draw. Here no draw is needed: an epoch holds the largest source once, and each
other source (n_max / n) ** (1 - 1 / T) times.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2seq.dataset.plan import Indices, Lengths, index_type, narrow


def copies(n_pairs: Sequence[int], temperature: float) -> list[tuple[int, int]]:
    """For each source: how many whole copies an epoch holds, and how many pairs of a last, partial copy."""
    times = [(max(n_pairs) / n) ** (1 - 1 / temperature) if n else 0.0 for n in n_pairs]
    return [(int(r), round(r % 1 * n)) for n, r in zip(n_pairs, times, strict=True)]


class _Groups(NamedTuple):
    """Which pairs share a slot."""

    alone: Indices  # pairs that have a slot of their own
    in_turn: Indices  # pairs that take turns, group after group
    n_members: Indices  # of each group
    first: Indices  # of each group: where it begins among those in turn
    turn: Indices  # of each group: whose it is in epoch 0


class Mixture:
    """The *slots* of an epoch. Each slot holds one pair. In some slots the pair changes from epoch to epoch.

    Each pair has a slot in each whole copy of its source. For the partial copy, the pairs of the source are sorted by
    length and cut into groups of neighbours, one group for each slot. The pairs of a group take turns in its slot.

    The lengths of a slot are those of its longest source and its longest target. So a plan of slots keeps its token
    budget with any of the pairs, and each epoch has the same number of batches.
    """

    def __init__(self, lengths: Lengths, n_pairs: Sequence[int], temperature: float, seed: int) -> None:
        """
        Args:
            lengths: of the pairs, those of the first source first, then those of the second, and so on.
            n_pairs: of each source.
        """
        self._lengths, self._n_pairs, self._temperature, self._seed = lengths, n_pairs, temperature, seed

    @cached_property
    def _groups(self) -> _Groups:
        # Made when it is asked for: of the processes of a machine, only the one that plans may need it.
        none = np.zeros(0, dtype=index_type(sum(self._n_pairs)))
        alone, in_turn, n_members, begin = [], [none], [none], 0
        for n, (n_whole, n_more) in zip(self._n_pairs, copies(self._n_pairs, self._temperature), strict=True):
            source = np.arange(begin, begin + n, dtype=none.dtype)
            alone.append(np.tile(source, n_whole))
            if n_more:
                src, tgt = (
                    narrow(side[begin : begin + n]) for side in (self._lengths.src_lengths, self._lengths.tgt_lengths)
                )
                in_turn.append(source[np.lexsort((src, tgt))])
                n_members.append(np.diff(np.arange(n_more + 1) * n // n_more).astype(none.dtype))
            begin += n
        members = np.concatenate(n_members)
        first = np.cumsum(members, dtype=none.dtype) - members
        turn = np.random.default_rng(self._seed).integers(members).astype(none.dtype)
        return _Groups(np.concatenate(alone), np.concatenate(in_turn), members, first, turn)

    @cached_property
    def src_lengths(self) -> npt.NDArray[Any]:
        return self._longest(self._lengths.src_lengths)

    @cached_property
    def tgt_lengths(self) -> npt.NDArray[Any]:
        return self._longest(self._lengths.tgt_lengths)

    def _longest(self, lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The length of each slot."""
        groups = self._groups
        return np.concatenate([lengths[groups.alone], np.maximum.reduceat(lengths[groups.in_turn], groups.first)])

    def pairs(self, epoch: int) -> Indices:
        """The pair in each slot, as a function of (seed, epoch)."""
        groups = self._groups
        standing = groups.in_turn[groups.first + (groups.turn + epoch) % groups.n_members]
        return np.concatenate([groups.alone, standing])
