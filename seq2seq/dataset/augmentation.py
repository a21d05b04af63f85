"""Which pairs of an epoch are read with augmentation, so that the model learns text as people write it.

A plan of batches needs lengths, and an augmentation changes them. So augmentations belong to *slots*: places in the
epoch, which are sorted by length and cut into blocks. Which augmentations a slot has, and how long its pair may be, is
decided once. In each epoch the pairs of a block move on to other slots of the block. So a pair meets new augmentations,
each epoch has the same number of batches, and nobody needs to read the text to plan them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2seq.dataset.plan import Indices, Slots, index_type, sort_by_length

BLOCK = 32  # slots: few, so that their pairs have about the same length
_ALONE = (("upper", "title", "lower"), ("join", "join3"))  # a slot has one of these at most
_JOINED = {"join": 2, "join3": 3}


class Growth(NamedTuple):
    """How long a side may become: `times * length + more` tokens."""

    times: float
    more: int

    def of(self, lengths: NDArray[Any]) -> NDArray[np.int32]:
        """The tokens that sides of these lengths may have."""
        return (np.ceil(lengths * self.times) + self.more).astype(np.int32)


Growths = Mapping[str, tuple[Growth, Growth]]  # of source and target, by the name of the augmentation


class Augmentation:
    """The slots of an epoch, some of them with augmentations."""

    def __init__(self, slots: Slots, shares: Mapping[str, float], growths: Growths, longest: int, seed: int) -> None:
        """
        Args:
            slots: which pairs an epoch has.
            shares: of the slots that have an augmentation, by its name, in the order in which a pair gets them.
            growths: of the same augmentations, except those that join pairs.
            longest: tokens that an augmented side may have at most.
        """
        self.names = list(shares)
        self.seed = seed
        self._slots = slots
        n_slots = len(slots.src_lengths)
        self._order = order = np.arange(n_slots, dtype=index_type(n_slots))
        sort_by_length(order, slots.src_lengths, slots.tgt_lengths)
        self._first = np.arange(0, len(order), BLOCK)
        self._n_members = np.diff(np.append(self._first, len(order)))
        self._drawn = _draw(shares, len(order), seed)
        self.src_lengths, self.tgt_lengths = (
            self._planned(lengths[order], {name: growth[side] for name, growth in growths.items()}, longest)
            for side, lengths in enumerate((slots.src_lengths, slots.tgt_lengths))
        )

    def pairs(self, epoch: int) -> Indices:
        """The pair in each slot, as a function of (seed, epoch)."""
        turn = np.random.default_rng((self.seed, epoch)).integers(self._n_members)
        # Blocks are rows. What the last one has too many is cut off.
        index = self._order.dtype
        places = np.arange(BLOCK, dtype=index) + turn.astype(index)[:, None]
        places %= self._n_members.astype(index)[:, None]
        places += self._first.astype(index)[:, None]
        return self._slots.pairs(epoch)[self._order[places.ravel()[: len(self._order)]]]

    def augmentations(self, slot: int) -> list[str]:
        """The names of the augmentations of a slot, in the order of the configuration."""
        drawn = int(self._drawn[slot])
        return [name for bit, name in enumerate(self.names) if drawn >> bit & 1]

    def _planned(self, lengths: NDArray[Any], growths: Mapping[str, Growth], longest: int) -> NDArray[np.int32]:
        """The tokens that each slot has room for on one side."""
        longest_of_block = np.repeat(np.maximum.reduceat(lengths, self._first), self._n_members).astype(np.int32)
        planned = longest_of_block.copy()
        usual = int(np.median(lengths))  # may be joined to a short pair
        for bit, name in enumerate(self.names):  # joins come first
            has_it = (self._drawn >> bit & 1).astype(bool)
            if name in _JOINED:
                planned[has_it] += (_JOINED[name] - 1) * np.maximum(planned[has_it], usual)
            else:
                planned[has_it] = growths[name].of(planned[has_it])
        return np.maximum(np.minimum(planned, longest), longest_of_block)


def n_joined(names: Sequence[str]) -> int:
    """How many pairs a slot with these augmentations holds."""
    return max((_JOINED.get(name, 1) for name in names), default=1)


def _draw(shares: Mapping[str, float], n_slots: int, seed: int) -> NDArray[np.uint16]:
    """Bit k of a number: whether the slot has the k-th augmentation."""
    rng = np.random.default_rng((seed, len(shares)))
    drawn = np.zeros(n_slots, dtype=np.uint16)
    names = list(shares)
    groups = [[name for name in group if name in shares] for group in _ALONE]
    groups += [[name] for name in names if not any(name in group for group in groups)]
    for group in groups:
        chances = _even(n_slots, rng)
        low = 0.0
        for name in group:
            has_it = (low <= chances) & (chances < low + shares[name])
            drawn[has_it] |= np.uint16(1 << names.index(name))
            low += shares[name]
    return drawn


def _even(n_slots: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A random number in [0, 1) for each slot. Those of a block are evenly spread, so that no block goes without."""
    block, place = np.divmod(np.arange(n_slots), BLOCK)
    n_blocks = -(-n_slots // BLOCK)
    odd, begin = 2 * rng.integers(BLOCK // 2, size=n_blocks) + 1, rng.integers(BLOCK, size=n_blocks)
    shuffled = (place * odd[block] + begin[block]) % BLOCK  # each number once, since the factor is odd
    return (shuffled + rng.random(n_slots)) / BLOCK
