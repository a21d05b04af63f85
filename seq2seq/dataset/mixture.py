"""How often the pairs of each training source stand in an epoch, and what stands in which of its places.

By proportion, a small source drowns among large ones. A *temperature* T >= 1 (Arivazhagan et al. 2019) gives a source
of n pairs a share of the epoch in proportion to n ** (1 / T): T = 1 changes nothing, T = 100 makes all about equal.
There it is the probability of a draw. Here nothing is drawn with replacement: the largest source stands in an epoch
once, the others (n_max / n) ** (1 - 1 / T) times.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
_NONE = np.zeros(0, dtype=np.int64)


def copies(n_pairs: Sequence[int], temperature: float) -> list[tuple[int, int]]:
    """Of each source of so many pairs: its whole copies in an epoch, and the pairs of one more that is not whole."""
    times = [(max(n_pairs) / n) ** (1 - 1 / temperature) if n else 0.0 for n in n_pairs]
    return [(int(r), round(r % 1 * n)) for n, r in zip(n_pairs, times, strict=True)]


class Mixture:
    """The *slots* of an epoch: places for one pair each, in some of which another pair stands in each epoch.

    Each pair has a slot in each whole copy of its source. For the copy that is not whole, the source's pairs are sorted
    by length and cut into as many strata of neighbours as it has slots; those of a stratum take turns in its slot.

    The lengths of a slot are those of its longest source and its longest target. So a plan of slots keeps its token
    budget whatever stands in them, and has equally many batches in each epoch.
    """

    def __init__(
        self,
        src_lengths: npt.NDArray[Any],
        tgt_lengths: npt.NDArray[Any],
        n_pairs: Sequence[int],
        temperature: float,
        seed: int,
    ) -> None:
        """n_pairs: of each source, whose pairs come one after the other."""
        whole, in_turn, n_members, begin = [], [], [], 0
        for n, (n_whole, n_more) in zip(n_pairs, copies(n_pairs, temperature), strict=True):
            source = np.arange(begin, begin + n)
            begin += n
            whole.append(np.tile(source, n_whole))
            if n_more:
                in_turn.append(source[np.lexsort((src_lengths[source], tgt_lengths[source]))])
                n_members.append(np.diff(np.arange(n_more + 1) * n // n_more))
        self._whole = np.concatenate(whole)  # pairs, each in a slot of its own
        self._in_turn = np.concatenate([_NONE, *in_turn])  # pairs, a stratum after the other
        self._n_members = np.concatenate([_NONE, *n_members])  # of each stratum
        self._first = np.cumsum(self._n_members) - self._n_members
        self._turn = np.random.default_rng(seed).integers(self._n_members)
        self.src_lengths, self.tgt_lengths = self._longest(src_lengths), self._longest(tgt_lengths)

    def _longest(self, lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """In each slot."""
        return np.concatenate([lengths[self._whole], np.maximum.reduceat(lengths[self._in_turn], self._first)])

    def pairs(self, epoch: int) -> Indices:
        """The pair in each slot, a function of (seed, epoch): where several take turns, another one in each epoch."""
        return np.concatenate([self._whole, self._in_turn[self._first + (self._turn + epoch) % self._n_members]])
