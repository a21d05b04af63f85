"""The plan of the next epoch, made while this one is trained on."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress

from seq2seq.dataset.plan import Plan

# From so many pairs on it pays to make a plan ahead. Fewer take a tenth of a second (docs/performance.md).
LARGE = 1_000_000


def is_large(n_pairs: int) -> bool:
    """Whether a plan of these pairs takes so long that nobody should wait for it."""
    return n_pairs >= LARGE


class PlansAhead:
    """Plans that a thread makes before they are asked for, if they are large.

    numpy lets other threads run while it shuffles and sorts. A process that ends does not wait for the thread.
    """

    def __init__(self, make: Callable[[int], Plan], n_pairs: int) -> None:
        """make: the plan of an epoch, as a pure function."""
        self._make, self._n_pairs = make, n_pairs
        self._pending: tuple[int, Future[Plan]] | None = None

    def of(self, epoch: int) -> Plan:
        """The plan of an epoch, or the error that making it raised. No thread is left then."""
        if self._pending is not None:
            (begun, future), self._pending = self._pending, None
            wait([future])
            if begun == epoch:
                return future.result()
        return self._make(epoch)

    def begin(self, epoch: int) -> None:
        """Start to make a plan."""
        if is_large(self._n_pairs) and (self._pending is None or self._pending[0] != epoch):
            future: Future[Plan] = Future()
            threading.Thread(target=self._work, args=(epoch, future), daemon=True).start()
            self._pending = epoch, future

    def _work(self, epoch: int, future: "Future[Plan]") -> None:
        if sys.platform == "linux":  # elsewhere this would be the whole process
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, 19)
        try:
            future.set_result(self._make(epoch))
        except BaseException as error:
            future.set_exception(error)  # `of` raises it
