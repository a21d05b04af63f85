"""Who started this process: asked before anything slow is imported."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

MARK = "SEQ2SEQ_WORKER"  # the variable by which a process knows that the first process of its run has started it
_ONE_OF_SEVERAL = frozenset(("WORLD_SIZE", "SLURM_NTASKS"))  # of which a launcher sets one


def may_be_one_of_several() -> bool:
    """Whether it is worth to look closer: somebody has set variables as for one process of a run with several."""
    return not _ONE_OF_SEVERAL.isdisjoint(os.environ)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Start processes in this block: Ctrl-C, which reaches all processes of a terminal, waits until they are ready."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_interrupts_to_first() -> None:
    """In a process that the first one has started, ignore Ctrl-C: the first one speaks for all, and ends this one.

    While it trains, `Recovery` handles signals in all processes.
    """
    if MARK in os.environ:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
