"""How often an epoch repeats each training source, and which pairs it holds.

A small source is rare among large ones. A *temperature* T >= 1 (Arivazhagan et al. 2019) gives a source of n pairs a
share of the epoch in proportion to n ** (1 / T): T = 1 changes nothing, T = 100 makes all shares about equal. In the
paper this is the probability of a random draw. Here no draw is needed: an epoch holds the largest source once, and each
other source (n_max / n) ** (1 - 1 / T) times.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seq2seq.dataset.plan import Indices, index_type, narrow


def copies(n_pairs: Sequence[int], temperature: float) -> list[tuple[int, int]]:
    """For each source: how many whole copies an epoch holds, and how many pairs of a last, partial copy."""
    times = [(max(n_pairs) / n) ** (1 - 1 / temperature) if n else 0.0 for n in n_pairs]
    return [(int(r), round(r % 1 * n)) for n, r in zip(n_pairs, times, strict=True)]


class Mixture:
    """The *slots* of an epoch. Each slot holds one pair. In some slots the pair changes from epoch to epoch.

    Each pair has a slot in each whole copy of its source. For the partial copy, the pairs of the source are sorted by
    length and cut into groups of neighbours, one group for each slot. The pairs of a group take turns in its slot.

    The lengths of a slot are those of its longest source and its longest target. So a plan of slots keeps its token
    budget with any of the pairs, and each epoch has the same number of batches.
    """

    def __init__(
        self,
        src_lengths: npt.NDArray[Any],
        tgt_lengths: npt.NDArray[Any],
        n_pairs: Sequence[int],
        temperature: float,
        seed: int,
    ) -> None:
        """n_pairs: of each source. The pairs of the first source come first, then those of the second, and so on."""
        none = np.zeros(0, dtype=index_type(sum(n_pairs)))
        whole, in_turn, n_members, begin = [], [none], [none], 0
        for n, (n_whole, n_more) in zip(n_pairs, copies(n_pairs, temperature), strict=True):
            source = np.arange(begin, begin + n, dtype=none.dtype)
            whole.append(np.tile(source, n_whole))
            if n_more:
                lengths = (narrow(side[begin : begin + n]) for side in (src_lengths, tgt_lengths))
                in_turn.append(source[np.lexsort(tuple(lengths))])
                n_members.append(np.diff(np.arange(n_more + 1) * n // n_more).astype(none.dtype))
            begin += n
        self._whole = np.concatenate(whole)  # pairs that have a slot of their own
        self._in_turn = np.concatenate(in_turn)  # pairs that take turns, group after group
        self._n_members = np.concatenate(n_members)  # of each group
        self._first = np.cumsum(self._n_members, dtype=none.dtype) - self._n_members
        self._turn = np.random.default_rng(seed).integers(self._n_members).astype(none.dtype)
        self.src_lengths, self.tgt_lengths = self._longest(src_lengths), self._longest(tgt_lengths)

    def _longest(self, lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The length of each slot."""
        return np.concatenate([lengths[self._whole], np.maximum.reduceat(lengths[self._in_turn], self._first)])

    def pairs(self, epoch: int) -> Indices:
        """The pair in each slot, as a function of (seed, epoch)."""
        return np.concatenate([self._whole, self._in_turn[self._first + (self._turn + epoch) % self._n_members]])
