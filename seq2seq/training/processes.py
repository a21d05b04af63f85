"""How the processes of a run begin on this machine, where nobody has started them, and how they stop.

torchrun starts them, as a library: each is this command again, with variables that say which one it is. So torchrun,
SLURM and this module are one way in (training/ranks.py). This process is then torchrun's agent. It trains nothing,
hands signals on, and ends the others if one of them ends before its time. One that is told to stop finishes its step
and saves.
"""

import gc
import logging
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from seq2seq.errors import ConfigError, RunError
from seq2seq.exit_status import ERASE_LINE, GRACE_S, STOP_SIGNALS, for_children, note

TRAIN = (sys.executable, "-m", "seq2seq", "train")
SHUTDOWN_S = 120  # for the processes to save when they are told to stop; then they are killed
_LONGEST_S = 10**9  # of which torch can count nanoseconds


def start_processes(n: int, words: Sequence[str], going_on: Callable[[], str]) -> None:
    """Do a run in `n` processes, and wait for its end.

    Args:
        words: of `train.py`, which name the directory of the run.
        going_on: what the user can do if one of them is killed.
    Raises:
        ConfigError: TORCH_ELASTIC_SHUTDOWN_TIMEOUT is no number of seconds.
        RunError: one was killed.
        SystemExit: one failed, and has said why; or this process got a signal, which they have heard.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, launch_agent

    # Whoever started this command may have told it to ignore some, as nohup does.
    handlers = {signum: handler for signum in STOP_SIGNALS if (handler := signal.getsignal(signum)) != signal.SIG_IGN}
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=n,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        signals_to_handle=",".join(signum.name for signum in handlers),
        shutdown_timeout=int(seconds_of("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", SHUTDOWN_S)),
    )
    os.environ.update(for_children())
    logging.disable()  # what torchrun says of each process, and they say themselves
    try:
        launch_agent(config, TRAIN[0], [*TRAIN[1:], *words])
    except SignalException as stopped:
        sys.exit(128 + stopped.sigval)
    except ChildFailedError as failed:
        ends = {rank: failure.exitcode for rank, failure in failed.failures.items()}
        killed = [rank for rank, status in ends.items() if status < 0 and status != -signal.SIGTERM]  # torchrun's own
        if not killed:
            sys.exit(status if (status := max(ends.values())) > 0 else 128 - status)
        note(str(failed))
        sentence = f"process {killed[0]} of this run was killed by signal {-ends[killed[0]]}, so all of it ends"
        raise RunError(f"{sentence}; {going_on()}") from failed
    finally:
        logging.disable(logging.NOTSET)
        for signum, handler in handlers.items():
            signal.signal(signum, handler)


def seconds_of(variable: str, default: float) -> float:
    """What a variable of the environment says.

    Raises:
        ConfigError: it is no number, or one that torch cannot wait for.
    """
    text = os.environ.get(variable, str(default))
    with suppress(ValueError):
        if 0 <= (seconds := float(text)) <= _LONGEST_S:
            return seconds
    raise ConfigError(f"{variable}={text} is not a number of seconds from 0 to {_LONGEST_S:,}")


# --- imports ---


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import torch, Lightning and what uses them inside this block (benchmarks/start_up.py).

    Imports make hundreds of thousands of objects that stay. Searching them for garbage again and again takes half a
    second, so the block pauses the search, and then keeps these objects out of all later ones.
    """
    if "pytorch_lightning" in sys.modules:  # what takes long is there, and what a program has made since may be garbage
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


# --- stops ---


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
        self._received_s = 0.0  # when, in seconds of `time.monotonic`
        self._previous: dict[int, Any] = {}
        self._cuts_short = False

    def install(self) -> None:
        if threading.current_thread() is not threading.main_thread():  # only it may set handlers
            return
        for number in STOP_SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
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
        if self.received and time.monotonic() - self._received_s < GRACE_S:
            return  # the same wish, as for every command
        if self.received == signal.SIGINT and number in (signal.SIGINT, signal.SIGTERM):  # torchrun turns a second one
            raise StoppedAtOnce
        self.received, self._received_s = number, time.monotonic()
        if number == signal.SIGINT and os.environ.get("RANK", "0") == "0":
            told = f"{ERASE_LINE if os.isatty(2) else ''}finishing the step and saving; Ctrl-C again stops at once\n"
            with suppress(OSError):
                os.write(2, told.encode())  # the signal may have come in the middle of a `print`
        if self._cuts_short:
            self._cuts_short = False  # others come while the block ends
            raise CutShort
