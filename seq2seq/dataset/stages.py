"""What an epoch reads: its slots, and how their pairs are read. Both may be others in the next stage of a run."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from seq2seq.dataset.plan import Slots


class PairReader(Protocol):
    """Reads a pair, possibly in another way in each epoch; `seq2seq/dataset/pair_readers.py` has the ways."""

    def __call__(self, index: int, epoch: int, slot: int) -> tuple[Sequence[int], Sequence[int]]: ...


class Stage(NamedTuple):
    """What the epochs of a stage read."""

    slots: Slots | None = None  # None: an epoch has each pair once
    read_pair: PairReader | None = None  # None: as it is stored


class Stages:
    """The stages of a run. Each is made when it is asked for, since slots of many pairs take much memory."""

    def __init__(self, make: Callable[[int], Stage], ends: Sequence[int] = (), most_slots: int = 0) -> None:
        """
        Args:
            make: the stage with this number, as a pure function.
            ends: how many epochs are over at the end of each stage but the last.
            most_slots: in an epoch of any stage; 0: as many as pairs.
        """
        self.ends, self.most_slots = ends, most_slots
        self._make = make
        self._made: dict[int, Stage] = {}

    @classmethod
    def only(cls, slots: Slots | None = None, read_pair: PairReader | None = None) -> "Stages":
        """One stage for all of a run."""
        return cls(lambda number: Stage(slots, read_pair))

    def number(self, epoch: int) -> int:
        """Which stage an epoch is of, both counted from 0."""
        return bisect_right(self.ends, epoch)

    def of(self, epoch: int) -> Stage:
        number = self.number(epoch)
        if (stage := self._made.get(number)) is None:
            self._made[number] = stage = self._make(number)
        return stage

    def forget_others(self, epoch: int) -> None:
        """Free the memory of all stages but that of an epoch."""
        number = self.number(epoch)
        for other in [other for other in self._made if other != number]:
            del self._made[other]
