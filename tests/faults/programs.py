"""translate.py as processes that begin at once, and end as real ones do.

To import torch takes seconds. So one process imports it, and forks itself for each program that a test starts. Such a
program has its own arguments, streams, session and limits, and the default settings with their forked workers.
"""

import atexit
import gc
import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tests.places import ROOT

LIMIT_S = 60  # seconds that a program may take; other tests may keep the cores busy
_IMPORTED_BEFORE = ("seq2seq.cli", "seq2seq.translation.run", "seq2seq.translation.engines.pytorch")


class Program:
    """One call of translate.py. What still runs of it at the end of the block is killed."""

    def __init__(
        self,
        *arguments: object,
        stdout: IO[bytes] | None = None,
        limits: Mapping[str, int] | None = None,
        is_fresh: bool = False,
    ) -> None:
        """
        Args:
            arguments: the command line.
            stdout: a file; without it, `self.stdout` is the end of a pipe.
            limits: for `resource.setrlimit`, such as {"RLIMIT_FSIZE": 1000}.
            is_fresh: import everything anew.
        """
        words = [str(argument) for argument in arguments]
        request = {"words": words, "limits": dict(limits or {}), "is_fresh": is_fresh}
        stdin, out, report = os.pipe(), os.pipe(), os.pipe()
        told, name = tempfile.mkstemp(dir=_server().folder)
        self._told = Path(name)
        streams = [stdin[0], out[1] if stdout is None else stdout.fileno(), told, report[1]]
        socket.send_fds(_server().channel, [json.dumps(request).encode()], streams)
        for descriptor in (stdin[0], out[1], told, report[1]):
            os.close(descriptor)
        self.stdin = os.fdopen(stdin[1], "wb", buffering=0)
        self.stdout = os.fdopen(out[0], "rb", buffering=0)
        self._report = os.fdopen(report[0], "rb", buffering=0)
        self.id = int(self._report.readline())
        self.workers: set[int] = set()  # that were seen
        self._status: int | None = None

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._status is None:
            for process in (self.id, *descendants(self.id)):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        for stream in (self.stdin, self.stdout, self._report):
            stream.close()

    @property
    def told(self) -> str:
        """What it has written to stderr."""
        return self._told.read_text(encoding="utf-8")

    @property
    def has_ended(self) -> bool:
        """Whether its status is known."""
        return self.ends_within(0.0)

    def ends_within(self, limit_s: float) -> bool:
        """Whether it ends within this time."""
        return self._status is not None or bool(select.select([self._report], [], [], limit_s)[0])

    def status(self, limit_s: float = LIMIT_S) -> int:
        """Wait for its end. The status is negative after a signal.

        Raises:
            AssertionError: it took longer than this.
        """
        if self._status is None:
            assert self.ends_within(limit_s), f"no end after {limit_s} s: {self.told}"
            self._status = int(self._report.readline())
        return self._status

    def give(self, text: str | bytes) -> None:
        """Write to its stdin, in a time in which it can read that much."""
        self.stdin.write(text.encode() if isinstance(text, str) else text)

    def line(self, limit_s: float = LIMIT_S) -> str:
        """The next line of `stdout`, without its end.

        Raises:
            AssertionError: it took longer than this.
        """
        assert select.select([self.stdout], [], [], limit_s)[0], f"no line after {limit_s} s: {self.told}"
        return self.stdout.readline().decode().removesuffix("\n")

    def end(self, text: str | bytes = b"") -> tuple[int, str]:
        """Give it the rest of its stdin, which must be short. Returns its status, and what came to `stdout`."""
        with suppress(BrokenPipeError):
            self.give(text)
        self.stdin.close()
        out = self.stdout.read().decode()
        return self.status(), out

    def await_workers(self, n_workers: int = 2) -> list[int]:
        """Wait until it has so many workers, and give their processes."""
        until(lambda: len(descendants(self.id)) >= n_workers or self.has_ended)
        self.workers |= descendants(self.id)
        return sorted(descendants(self.id))

    @property
    def handles_signals(self) -> bool:
        """Whether it has set its handlers: an earlier signal finds a Python that has just been started."""
        with suppress(FileNotFoundError):
            caught = re.search(r"SigCgt:\t(\w+)", Path(f"/proc/{self.id}/status").read_text())
            return bool(caught and int(caught[1], 16) & (1 << (signal.SIGTERM - 1)))
        return False


def until(condition: Callable[[], object], limit_s: float = LIMIT_S) -> None:
    """Wait until it holds."""
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"not within {limit_s} s"
        time.sleep(0.005)


def descendants(process: int) -> set[int]:
    """All processes that this one and its children have forked, and that have not ended."""
    found: set[int] = set()
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, children.read_text().split()))
    return {child for child in found if lives(child)}.union(*map(descendants, found))


def lives(process: int) -> bool:
    """Whether it exists, and is more than a status that its parent has not asked for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@dataclass
class _Server:
    channel: socket.socket
    folder: str  # for what programs tell


@cache
def _server() -> _Server:
    ours, theirs = socket.socketpair()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.programs", str(theirs.fileno())],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # Ctrl-C is for the tests; the server ends with them
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    theirs.close()
    folder = tempfile.TemporaryDirectory()

    def close() -> None:
        ours.close()
        server.wait()
        folder.cleanup()

    atexit.register(close)
    return _Server(ours, folder.name)


def _serve(channel: socket.socket) -> None:
    """Start a program for each request. It returns only in a program."""
    for name in _IMPORTED_BEFORE:
        import_module(name)
    gc.collect()
    gc.freeze()  # a program that collects garbage would copy the memory of all that is imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how the parent of a program ended
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 4)
        if not message:
            sys.exit()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            *streams, report = descriptors
            if program := os.fork():
                _report(program, streams, report)
            os.close(report)
            _begin(json.loads(message), streams)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _report(program: int, streams: list[int], report: int) -> None:
    for descriptor in streams:
        os.close(descriptor)
    os.write(report, b"%d\n" % program)
    _, status = os.waitpid(program, 0)
    os.write(report, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _begin(request: dict[str, Any], streams: list[int]) -> None:
    """Make of this process one that has just been started for the request."""
    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1, errors="backslashreplace")
    for name, limit in request["limits"].items():
        resource.setrlimit(getattr(resource, name), (limit, limit))
    sys.argv = ["translate.py", *request["words"]]
    if request["is_fresh"]:
        os.execv(sys.executable, [sys.executable, *sys.argv])


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from seq2seq.cli import front_door

    front_door("translate", prog="translate.py")
