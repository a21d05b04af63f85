"""Room for segmentations that are longer than the stored ones, so that a plan of batches keeps its token budget."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.dataset.augmentation import Growth
from seq2seq.dataset.plan import Indices, Slots


class Roomier:
    """Slots with the same pairs as others, in which both sides may be longer.

    The lengths depend on nothing that is drawn. So each epoch has the same batches, known before a text is read.
    """

    def __init__(self, slots: Slots, growth: tuple[Growth, Growth], longest: int) -> None:
        """
        Args:
            growth: of source and target.
            longest: tokens that a side may grow to.
        """
        self._slots = slots
        self.src_lengths = _grown(slots.src_lengths, growth[0], longest)
        self.tgt_lengths = _grown(slots.tgt_lengths, growth[1], longest)

    def pairs(self, epoch: int) -> Indices:
        """The pair in each slot."""
        return self._slots.pairs(epoch)


def _grown(lengths: NDArray[Any], growth: Growth, longest: int) -> NDArray[np.int32]:
    return np.maximum(np.minimum(growth.of(lengths), longest), lengths)
