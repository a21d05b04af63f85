"""What an epoch of training reads: which pairs, how often, with which augmentations, and how long they will be.

A small source is rare among large ones. A *temperature* T >= 1 (Arivazhagan et al. 2019) gives a source of n pairs a
share of the epoch in proportion to n ** (1 / T): T = 1 changes nothing, T = 100 makes all shares about equal. In the
paper this is the probability of a random draw. Here no draw is needed: an epoch holds the largest source once, and each
other source (n_max / n) ** (1 - 1 / T) times. A *weight* multiplies that.

Each reading of a pair is a *row* of the epoch. Its pair and its augmentations are a function of seed, epoch and the
number of the row. So nothing of an epoch is stored, and a resumed run, a worker and another rank find the same.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2seq.config.augment import EXCLUSIVE
from seq2seq.corpus.augmentation import AUGMENTATIONS
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


class Growth(NamedTuple):
    """How long sides may become: `times * length + more` tokens."""

    times: NDArray[np.float64]  # (2, 1), of source and target
    more: NDArray[np.float64]

    def of(self, lengths: NDArray[Any]) -> NDArray[np.int32]:
        """The tokens that sides of these lengths, (2, rows), may have."""
        return (np.ceil(lengths * self.times) + self.more).astype(np.int32)


class Draws(NamedTuple):
    """What is drawn for each row."""

    shares: Mapping[str, float]  # of the rows with each augmentation, in the order in which a pair gets them
    growths: Mapping[str, Growth]  # of the same augmentations, except those that join pairs
    segmentation: Growth | None  # of random segmentation; None: there is none
    longest: int  # tokens that a side may grow to


AS_STORED = Draws({}, {}, None, 0)


class _Span(NamedTuple):
    """Neighbouring rows that have pairs of one source: whole copies, or a partial one."""

    begin: int
    n_rows: int
    first_pair: int
    n_pairs: int  # of the source
    by_length: Indices | None = None  # the pairs, of a partial copy
    turn: int = 0  # of its first epoch, from 0 to n_pairs - 1

    def pairs(self, places: Indices, epoch: int) -> Indices:
        """The pairs of the rows with these places in the span."""
        if self.by_length is None:
            return self.first_pair + places % self.n_pairs
        # Those at the places p of the sorted pairs with (p * n_rows + start) % n_pairs < n_rows.
        start = (self.turn + epoch * self.n_rows) % self.n_pairs
        wraps = places.astype(np.int64) + (start >= self.n_rows)
        return self.first_pair + self.by_length[(wraps * self.n_pairs + self.n_rows - 1 - start) // self.n_rows]


class Epoch:
    """The rows of each epoch: first the whole copies of all sources, then their partial ones.

    The pairs of a partial copy lie evenly among those of its source, sorted by length, as the points of a drawn line
    do on a screen (Bresenham). From epoch to epoch they move on by one place. So in any k epochs each pair comes
    k * n_more / n times, rounded up or down, and the lengths of one epoch are about those of another.
    """

    def __init__(
        self, stored: Lengths, n_pairs: Sequence[int], copies: Sequence[Copies], seed: int, draws: Draws = AS_STORED
    ) -> None:
        """
        Args:
            stored: the pairs, those of the first source first, then those of the second, and so on.
            n_pairs: of each source.
            copies: of each source.
        """
        self.draws, self._stored, self._seed = draws, stored, seed
        self._n_pairs, self._copies = n_pairs, copies
        self._ends = np.array(list(accumulate(n_pairs)))
        self.n_rows = sum(c.n_pairs(n) for c, n in zip(copies, n_pairs, strict=True))
        # Whether one epoch has other lengths than the next.
        self.lengths_differ = bool(draws.shares) or any(c.n_more for c in copies)

    @cached_property
    def _spans(self) -> list[_Span]:
        spans: list[_Span] = []
        rng, begin = np.random.default_rng(self._seed), 0
        for is_part in (False, True):
            for end, n, (n_whole, n_more) in zip(self._ends.tolist(), self._n_pairs, self._copies, strict=True):
                if not (n_rows := n_more if is_part else n_whole * n):
                    continue
                by_length, turn = None, 0
                if is_part:
                    by_length, turn = np.arange(n, dtype=index_type(n)), int(rng.integers(n))
                    sort_by(by_length, *(narrow(side[end - n : end]) for side in self._sides))
                spans.append(_Span(begin, n_rows, end - n, n, by_length, turn))
                begin += n_rows
        return spans

    def pairs(self, rows: Indices, epoch: int) -> Indices:
        """The pair of each of these rows."""
        pairs = np.empty(len(rows), index_type(int(self._ends[-1])))
        for span in self._spans:
            inside = (span.begin <= rows) & (rows < span.begin + span.n_rows)
            pairs[inside] = span.pairs(rows[inside] - span.begin, epoch)
        return pairs

    def kinds(self, rows: Indices, epoch: int) -> NDArray[np.uint16]:
        """The augmentations of each of these rows: bit k says whether it has the k-th one."""
        kinds = np.zeros(len(rows), np.uint16)
        taken: dict[str, float] = defaultdict(float)  # of the chances, by the first of those that exclude each other
        for bit, (name, share) in enumerate(self.draws.shares.items()):
            first = next((group[0] for group in EXCLUSIVE if name in group), name)
            chances = _chances(rows, _generators(self._seed, epoch)[list(AUGMENTATIONS).index(first)])
            has_it = (taken[first] <= chances) & (chances < taken[first] + share)
            kinds |= has_it.astype(np.uint16) << np.uint16(bit)
            taken[first] += share
        return kinds

    def n_joined(self, pair: int, names: Sequence[str]) -> int:
        """How many pairs, from this one on, are read as one: those of another source are never joined to it."""
        n = max((AUGMENTATIONS[name].n_lines for name in names), default=1)
        return n if pair + n <= self._ends[np.searchsorted(self._ends, pair, side="right")] else 1

    def lengths(self, epoch: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The tokens of source and target that the rows of an epoch are planned with."""
        if self.draws == AS_STORED and all(c == (1, 0) for c, n in zip(self._copies, self._n_pairs, strict=True) if n):
            return self._sides
        longest = max(self.draws.longest, *(int(side.max(initial=0)) for side in self._sides))
        planned = np.empty((2, self.n_rows), np.min_scalar_type(longest))
        for block in blocks(self.n_rows):
            rows = np.arange(block.start, block.stop)
            pairs = self.pairs(rows, epoch)
            planned[:, block] = self._planned(pairs, self.kinds(rows, epoch))
        return planned[0], planned[1]

    @property
    def _sides(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._stored.src_lengths, self._stored.tgt_lengths

    def _stored_of(self, pairs: Indices) -> NDArray[Any]:
        """The lengths of both sides, (2, pairs)."""
        return np.stack([side[pairs] for side in self._sides])

    def _planned(self, pairs: Indices, kinds: NDArray[np.uint16]) -> NDArray[np.int32]:
        """The tokens of both sides, (2, pairs), which 90% of such pairs do not exceed; never fewer than stored."""
        stored = self._stored_of(pairs).astype(np.int32)
        planned = stored.copy()
        for bit, name in enumerate(self.draws.shares):  # joins come first
            has_it = np.flatnonzero(kinds >> bit & 1)
            if (n := AUGMENTATIONS[name].n_lines) > 1:
                planned[:, has_it] = self._joined(pairs[has_it], n)
            else:
                planned[:, has_it] = self.draws.growths[name].of(planned[:, has_it])
        if self.draws.segmentation:
            planned = self.draws.segmentation.of(planned)
        return np.maximum(np.minimum(planned, self.draws.longest), stored)

    def _joined(self, pairs: Indices, n: int) -> NDArray[np.int32]:
        """Of each pair with the next ones of its source; of it alone if they are too few or too long."""
        ends = self._ends[np.searchsorted(self._ends, pairs, side="right")]
        stored = np.stack([self._stored_of(np.minimum(pairs + k, ends - 1)) for k in range(n)]).astype(np.int32)
        whole = stored.sum(axis=0, dtype=np.int32)
        fits = (pairs + n <= ends) & (whole <= self.draws.longest).all(axis=0)
        return np.where(fits, whole, stored[0])


def _chances(rows: Indices, begin: np.uint64) -> NDArray[np.float64]:
    """A random number in [0, 1) for each row: number `row` of a generator SplitMix64 (Steele et al. 2014)."""
    z = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + begin
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@lru_cache
def _generators(seed: int, epoch: int) -> NDArray[Any]:
    """Where the generator of each augmentation begins."""
    return np.random.SeedSequence((seed, epoch, 1)).generate_state(len(AUGMENTATIONS), np.uint64)
