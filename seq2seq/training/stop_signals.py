"""A run that is told to stop finishes its step and saves."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGUSR1", "SIGHUP") if hasattr(signal, name)
)


class TrainingInterrupted(Exception):
    """The run saved its state and stopped because it was told to; `signum` says by what."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


class StoppedAtOnce(BaseException):
    """A second Ctrl-C; a KeyboardInterrupt would make Lightning exit by itself, with status 1."""


class CutShort(BaseException):
    """Told to stop in the middle of work that can be done again."""


class StopSignals:
    """Notes a signal instead of dying of it: SIGTERM and SIGUSR1 of batch systems, Ctrl-C, a closed terminal.

    Lightning's own handler waits for rank 0 inside the handler, and hangs if only another rank is told.
    """

    def __init__(self) -> None:
        self.received = 0
        self._previous: dict[int, Any] = {}
        self._cuts_short = False

    def install(self) -> None:
        if threading.current_thread() is not threading.main_thread():  # only it may set handlers
            return
        for number in STOP_SIGNALS:
            if number != getattr(signal, "SIGHUP", None) or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                self._previous[number] = signal.signal(number, self._note)

    def restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    @contextmanager
    def cutting_short(self) -> Iterator[None]:
        """The first signal ends this block.

        Raises:
            CutShort: a signal came, in this block or before.
        """
        try:
            self._cuts_short = True
            if self.received:
                raise CutShort
            yield
        finally:
            self._cuts_short = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received == signal.SIGINT and number in (signal.SIGINT, signal.SIGTERM):  # torchrun turns a second one
            raise StoppedAtOnce
        self.received = number
        if self._cuts_short:
            self._cuts_short = False  # others come while the block ends
            raise CutShort
