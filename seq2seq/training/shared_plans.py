"""The plan of an epoch, made once for all processes of a machine.

The first process makes it, writes it to memory without a name, and tells the others where that is. They map it, so each
reads its own batches and nothing else. Such memory has no file that could be left behind: the kernel frees it when no
process has it open or mapped, however these processes end.
"""

import mmap
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from seq2seq.dataset.plan import Plan
from seq2seq.dataset.plan_ahead import Plans
from seq2seq.training.ranks import Ranks


class _Place(NamedTuple):
    """Where a plan is: its spans, its lengths, its slots, and the pairs in these if they are not the slots."""

    path: Path
    device_and_inode: tuple[int, int]
    dtype: str
    n_batches: int
    n_slots: int


class SharedPlans:
    """Plans for all processes of a machine. All processes of a run have to ask for the same epochs in the same order.

    A process that cannot map a plan, for instance in a container of its own, makes the same one.
    """

    def __init__(self, plans: Plans, ranks: Ranks) -> None:
        """plans: of which only the first process of the machine makes any."""
        self._plans, self._ranks = plans, ranks
        self._n_told = 0

    def of(self, epoch: int) -> Plan:
        ranks = self._ranks
        name = f"plan {self._n_told} of machine {ranks.machine}"
        everybody_has_it = f"plan {self._n_told}"
        self._n_told += 1
        if ranks.is_first_on_machine:
            with _in_shared_memory(self._plans.of(epoch)) as (place, plan):
                ranks.tell(name, pickle.dumps(place))
                ranks.meet(everybody_has_it)
            return plan
        plan_there = _mapped(pickle.loads(ranks.hear(name)))
        ranks.meet(everybody_has_it)
        return self._plans.of(epoch) if plan_there is None else plan_there

    def begin(self, epoch: int) -> None:
        if self._ranks.is_first_on_machine:
            self._plans.begin(epoch)


@contextmanager
def _in_shared_memory(plan: Plan) -> Iterator[tuple[_Place | None, Plan]]:
    """A copy of a plan, and where other processes find it during this block; None: this system has no such memory."""
    arrays = [plan.spans, plan.longest, plan.slots, *([plan.pairs] if plan.pairs is not plan.slots else [])]
    dtype = np.result_type(*arrays)
    try:
        file = os.fdopen(os.memfd_create("plan"), "w+b")
    except (AttributeError, OSError):  # not on Linux, or forbidden
        yield None, plan
        return
    with file:
        for array in arrays:
            file.write(np.ascontiguousarray(array, dtype).data)
        file.flush()
        status = os.fstat(file.fileno())
        place = _Place(
            Path(f"/proc/{os.getpid()}/fd/{file.fileno()}"),
            (status.st_dev, status.st_ino),
            dtype.str,
            len(plan),
            len(plan.slots),
        )
        yield place, _read(file, place)


def _mapped(place: _Place | None) -> Plan | None:
    """The plan of another process; None if this one cannot get there."""
    if place is None:
        return None
    with suppress(OSError):
        status = place.path.stat()
        if (status.st_dev, status.st_ino) == place.device_and_inode:  # not another process of that number
            with place.path.open("rb") as file:
                return _read(file, place)
    return None


def _read(file: BinaryIO, place: _Place) -> Plan:
    numbers = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), place.dtype)
    of_batches = 2 * place.n_batches
    spans, longest, slots, pairs = np.split(numbers, np.cumsum([of_batches, of_batches, place.n_slots]))
    return Plan(slots, pairs if len(pairs) else slots, spans.reshape(-1, 2), longest.reshape(-1, 2))
