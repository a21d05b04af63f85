"""How often an epoch repeats each training source, and which pairs it holds.

A small source is rare among large ones. A *temperature* T >= 1 (Arivazhagan et al. 2019) gives a source of n pairs a
share of the epoch in proportion to n ** (1 / T): T = 1 changes nothing, T = 100 makes all shares about equal. In the
paper this is the probability of a random draw. Here no draw is needed: an epoch holds the largest source once, and each
other source (n_max / n) ** (1 - 1 / T) times. A *weight* multiplies that.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2seq.dataset.plan import Indices, Lengths, blocks, index_type, narrow, sort_by
from seq2seq.errors import ConfigError


class Copies(NamedTuple):
    """How often an epoch has the pairs of a source."""

    n_whole: int  # whole copies
    n_more: int  # pairs of a last, partial copy

    def n_pairs(self, n: int) -> int:
        """All pairs that an epoch has of a source of `n`, counted as often as they come."""
        return self.n_whole * n + self.n_more


def copies(n_pairs: Sequence[int], temperature: float, weights: Sequence[float] | None = None) -> list[Copies]:
    """
    Args:
        n_pairs: of each source.
        weights: of each source; None: 1.
    Raises:
        ConfigError: an epoch would have no pair.
    """
    weights = weights or [1.0] * len(n_pairs)
    mixed = [n if weight else 0 for n, weight in zip(n_pairs, weights, strict=True)]
    largest = max(mixed)
    found = [
        Copies(*divmod(round(n * weight * (largest / n) ** (1 - 1 / temperature)), n)) if n else Copies(0, 0)
        for n, weight in zip(mixed, weights, strict=True)
    ]
    if not any(map(any, found)):
        raise ConfigError(
            "an epoch would have no pair: the sources that fill it have too few; raise their weights in "
            "data.train, or check what was left out"
        )
    return found


class _Part(NamedTuple):
    """A source of which an epoch holds some pairs, in as many slots. They take turns.

    The pairs are sorted by length, and those of an epoch are spread evenly over them, as the points of a drawn line are
    over the rows of a screen (Bresenham). From epoch to epoch they move on by one place. So a pair stands in n_slots of
    len(pairs) epochs, spread as evenly: in any k epochs, k * n_slots / len(pairs) times, rounded up or down.
    """

    pairs: Indices
    n_slots: int
    turn: int  # where the first epoch begins, from 0 to len(pairs) - 1

    def standing(self, epoch: int) -> Iterator[Indices]:
        """The pair in each slot: those at the places p with ((p + epoch) * n_slots + turn) % len(pairs) < n_slots."""
        begin = (self.turn + epoch * self.n_slots) % len(self.pairs)
        for block in blocks(self.n_slots):
            places = np.arange(block.start, block.stop, dtype=np.int64) + (begin >= self.n_slots)
            places *= len(self.pairs)
            places += self.n_slots - 1 - begin
            places //= self.n_slots
            yield self.pairs[places]

    def longest(self, lengths: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
        """Of the pairs that may stand in each slot."""
        for block in blocks(self.n_slots):
            bounds = np.arange(block.start, block.stop + 1, dtype=np.int64) * len(self.pairs)
            first, last = bounds[:-1] // self.n_slots, -(-bounds[1:] // self.n_slots) - 1
            of_pairs = lengths[self.pairs[first[0] : last[-1] + 1]]
            # A slot may share its last pair with the next one.
            yield np.maximum(np.maximum.reduceat(of_pairs, first - first[0]), of_pairs[last - first[0]])


class Mixture:
    """The *slots* of an epoch. Each slot holds one pair. In some slots the pair changes from epoch to epoch.

    Each pair has a slot in each whole copy of its source. In the slots of the partial copy, the pairs take turns.

    The lengths of a slot are those of its longest source and its longest target. So a plan of slots keeps its token
    budget with any of the pairs, and each epoch has the same number of batches.
    """

    def __init__(self, lengths: Lengths, n_pairs: Sequence[int], copies: Sequence[Copies], seed: int) -> None:
        """
        Args:
            lengths: of the pairs, those of the first source first, then those of the second, and so on.
            n_pairs: of each source.
            copies: of each source.
        """
        self._lengths, self._copies, self._seed = lengths, copies, seed
        self._sources = [slice(end - n, end) for n, end in zip(n_pairs, accumulate(n_pairs), strict=True)]
        self._n_slots = sum(c.n_pairs(n) for n, c in zip(n_pairs, copies, strict=True))
        self._index_type = index_type(sum(n_pairs))

    # These are made when they are asked for: of the processes of a machine, only the one that plans may need them.
    @cached_property
    def _parts(self) -> list[_Part]:
        parts, rng = [], np.random.default_rng(self._seed)
        for source, (_, n_more) in zip(self._sources, self._copies, strict=True):
            if n_more:
                src, tgt = (narrow(side[source]) for side in (self._lengths.src_lengths, self._lengths.tgt_lengths))
                pairs = np.arange(len(src), dtype=self._index_type)
                sort_by(pairs, src, tgt)
                pairs += source.start
                parts.append(_Part(pairs, n_more, int(rng.integers(len(pairs)))))
        return parts

    @cached_property
    def src_lengths(self) -> npt.NDArray[Any]:
        return self._longest(self._lengths.src_lengths)

    @cached_property
    def tgt_lengths(self) -> npt.NDArray[Any]:
        return self._longest(self._lengths.tgt_lengths)

    def _longest(self, lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The length of each slot."""
        lengths = narrow(lengths)
        alone = (lengths[pairs] for pairs in self._alone())
        return self._joined(chain(alone, *(part.longest(lengths) for part in self._parts)), lengths.dtype)

    def pairs(self, epoch: int) -> Indices:
        """The pair in each slot, as a function of (seed, epoch)."""
        alone = (np.arange(pairs.start, pairs.stop, dtype=self._index_type) for pairs in self._alone())
        return self._joined(chain(alone, *(part.standing(epoch) for part in self._parts)), self._index_type)

    def _alone(self) -> Iterator[slice]:
        """The pairs that have a slot of their own."""
        for source, (n_whole, _) in zip(self._sources, self._copies, strict=True):
            for _ in range(n_whole):
                for block in blocks(source.stop - source.start):
                    yield slice(source.start + block.start, source.start + block.stop)

    def _joined(self, pieces: Iterable[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """What all slots have, from what some of them have: a few at a time take little memory."""
        joined, end = np.empty(self._n_slots, dtype), 0
        for piece in pieces:
            begin, end = end, end + len(piece)
            joined[begin:end] = piece
        assert end == self._n_slots
        return joined
