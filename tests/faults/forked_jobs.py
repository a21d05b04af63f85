"""Jobs of a sweep or a search that are forked from it: to import torch anew takes seconds for each of them."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import IO, NoReturn

from hydra.core.global_hydra import GlobalHydra

from seq2seq import exit_status
from seq2seq.cli import front_door
from seq2seq.sweeps import job_process


def fork_jobs() -> None:
    """Do so from now on in this process, which must have one thread. Faults that it has prepared are for its jobs."""
    from seq2seq.training import run  # noqa: F401

    vars(job_process)["subprocess"] = SimpleNamespace(Popen=Forked, DEVNULL=None, STDOUT=None)


class Forked:
    """Stands in for `subprocess.Popen`: `train.py` with its words, as a child."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: None,
        stdout: IO[bytes] | None,
        stderr: None,
        env: Mapping[str, str],
        start_new_session: bool,
    ) -> None:
        self._status: int | None = None
        self._pid = os.fork()
        if self._pid:
            return
        if start_new_session:
            os.setsid()
        for stream in (1, 2) if stdout else ():
            os.dup2(stdout.fileno(), stream)  # type: ignore[union-attr]
        os.closerange(3, 1_000)
        os.environ.clear()
        os.environ.update(env, IS_JOB="1")
        exit_status._is_watching = False  # whatever signals are for the parent
        exit_status.end_with_parent()  # as a program does
        GlobalHydra.instance().clear()  # so is what Hydra is doing there
        _train(command[command.index("train") + 1 :] if "train" in command else command[2:])

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self) -> int | None:
        return self._ended(0)

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self._pid, signal.SIGTERM)

    def _ended(self, options: int) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self._pid, options)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status


def _train(words: Sequence[str]) -> NoReturn:
    status: object = 0
    try:
        front_door("train", words)
    except SystemExit as stop:
        status = stop.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)
