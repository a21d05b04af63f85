"""A run in a process of its own: whatever happens to it, such as a lack of memory, happens to no other one."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from seq2seq.exit_status import STOP_SIGNALS, for_children
from seq2seq.training.processes import TRAIN

_STOPPED = {128 + signum: signum.name for signum in STOP_SIGNALS}


class JobProcess:
    """A command of ours with some words, mostly `train.py`. It saves and stops if this process ends, however it ends.

    Attributes:
        peak_memory: the most bytes that it had, once it has been waited for.
    """

    peak_memory: int | None = None

    def __init__(
        self,
        words: Sequence[str],
        command: Sequence[str] = TRAIN,
        log: Path | None = None,
        is_launched: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """
        Args:
            command: what comes before the words.
            is_launched: it begins with a program that starts it several times.
            log: a file to which all that it prints is added; None: it prints where this process does.
            variables: of its environment, beside those of this process.
        """
        if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else the system would forget how the job ends
        printed = None
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
            printed = log.open("ab")
        self._process = subprocess.Popen(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT if printed else None,
            env=os.environ | for_children(is_launched) | dict(variables or {}),
            start_new_session=True,  # a Ctrl-C in the terminal is for this process, which hands it on
        )
        if printed:
            printed.close()

    def poll(self) -> int | None:
        """Its exit status; None as long as it runs."""
        return self._process.poll()

    def wait(self) -> int:
        """Its exit status. If this process is told to stop meanwhile, so is the job, which is waited for."""
        try:
            return self._wait()
        except BaseException:
            self.stop()
            self._process.wait()
            raise

    def _wait(self) -> int:
        if self._process.returncode is None:
            _, status, usage = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self.peak_memory = usage.ru_maxrss << (0 if sys.platform == "darwin" else 10)
        return self._process.wait()

    def stop(self) -> None:
        """Tell it to save and stop."""
        self._process.terminate()


def why_it_failed(status: int) -> str:
    """A sentence for a job that could say nothing itself."""
    if status < 0:
        reason = ", most likely because memory ran out" if -status == signal.SIGKILL else ""
        return f"was killed by signal {-status}{reason}"
    if status in _STOPPED:
        return f"was stopped by {_STOPPED[status]}"
    return f"ended with status {status}; what it printed says more"
