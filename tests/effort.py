"""How much work something is, without a clock that other programs make run faster."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def n_steps(function: Callable[[], object]) -> int:
    """How many lines of Python code it runs."""
    n = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal n
        n += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        function()
    finally:
        sys.settrace(before)
    return n


@contextmanager
def no_hang(limit_s: float = 10) -> Iterator[None]:
    """For what C does and `n_steps` cannot count: only what hangs needs so many seconds of this processor's time."""

    def fail(*_: object) -> None:
        raise AssertionError(f"no end after {limit_s} s of work")

    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
