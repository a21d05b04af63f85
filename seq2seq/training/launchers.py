"""Who started this process: asked before anything slow is imported."""

import os
import signal
import threading

MARK = "SEQ2SEQ_WORKER"  # the variable by which a process knows that the first process of its run has started it
JOB_MARK = "SEQ2SEQ_JOB"  # and by which a run knows that a sweep has started it
_ONE_OF_SEVERAL = frozenset(("WORLD_SIZE", "SLURM_NTASKS"))  # of which a launcher sets one


def may_be_one_of_several() -> bool:
    """Whether it is worth to look closer: somebody has set variables as for one process of a run with several."""
    return not _ONE_OF_SEVERAL.isdisjoint(os.environ)


def leave_interrupts_to_first() -> None:
    """In a process that the first one has started, ignore Ctrl-C: the first one speaks for all, and ends this one.

    While it trains, `Recovery` handles signals in all processes.
    """
    if MARK in os.environ:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def end_with_sweep() -> None:
    """In a job of a sweep, take the end of the process that has started it for SIGTERM: the run saves and stops."""
    if os.environ.pop(JOB_MARK, None) is None:  # the processes that this one starts are no jobs
        return
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_stop_with_parent, daemon=True).start()


def _stop_with_parent() -> None:
    """Wait until nobody can write to stdin any more: the process at its other end is gone."""
    os.read(0, 1)  # not `sys.stdin`, whose lock would hinder the end of Python
    os.kill(os.getpid(), signal.SIGTERM)
