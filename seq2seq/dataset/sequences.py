"""Sequences of values in two files: the values one after the other, and where each sequence begins and ends."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Writable(Protocol):
    """A file, as far as it is written."""

    def write(self, data: bytes, /) -> Any: ...


class Sequences:
    """A file of values, and a file of offsets that says where each sequence of them begins and ends."""

    def __init__(self, values: Writable, offsets: Writable) -> None:
        self._values = values
        self._offsets = offsets
        self._n_values = 0
        offsets.write(np.zeros(1, dtype="<i8").tobytes())

    def append(self, lengths: Sequence[int] | NDArray[Any], values: bytes) -> None:
        """Add sequences.

        Args:
            lengths: values in each sequence.
            values: of all sequences, in order.
        """
        ends = self._n_values + np.cumsum(lengths, dtype="<i8")
        self._values.write(values)
        self._offsets.write(ends.tobytes())
        self._n_values = int(ends[-1]) if len(ends) else self._n_values
