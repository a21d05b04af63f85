"""translate.py as processes that begin at once, with the default settings and their forked workers."""

import json
import os
import re
import select
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO

from seq2seq.translation.parts import folder_of
from tests.places import ROOT
from tests.processes import LIMIT_S, Warm, descendants, until


class Program:
    """One call of translate.py. What still runs of it at the end of the block is killed."""

    def __init__(
        self,
        *arguments: object,
        stdout: IO[bytes] | None = None,
        limits: Mapping[str, int] | None = None,
        frees_memory: bool = False,
    ) -> None:
        """
        Args:
            arguments: the command line.
            stdout: a file; without it, `self.stdout` is the end of a pipe.
            limits: for `resource.setrlimit`, such as {"RLIMIT_FSIZE": 1000}.
            frees_memory: end as Python always does, which takes some tenths of a second more.
        """
        (stdin, to_it), (from_it, out) = os.pipe(), os.pipe()
        told, name = tempfile.mkstemp()
        self._told = Path(name)
        self._process = Warm(
            [str(ROOT / "translate.py"), *map(str, arguments)],
            env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            stdin=stdin,
            stdout=stdout or out,
            stderr=told,
            limits=limits,
            frees_memory=frees_memory,
        )
        for descriptor in (stdin, out, told):
            os.close(descriptor)
        self.id = self._process.pid
        self.stdin = os.fdopen(to_it, "wb", buffering=0)
        self.stdout = os.fdopen(from_it, "rb", buffering=0)
        self.workers: set[int] = set()  # that were seen

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *exception: object) -> None:
        if not self.has_ended:
            for process in (self.id, *descendants(self.id)):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self.status()
        self._last_words = self.told
        self._told.unlink()
        for stream in (self.stdin, self.stdout):
            stream.close()

    @property
    def told(self) -> str:
        """What it has written to stderr."""
        return self._told.read_text(encoding="utf-8") if self._told.exists() else self._last_words

    @property
    def has_ended(self) -> bool:
        """Whether its status is known."""
        return self._process.poll() is not None

    def ends_within(self, limit_s: float) -> bool:
        """Whether it ends within this time."""
        with suppress(TimeoutExpired):
            self._process.wait(limit_s)
        return self.has_ended

    def status(self, limit_s: float = LIMIT_S) -> int:
        """Wait for its end. The status is negative after a signal.

        Raises:
            AssertionError: it took longer than this.
        """
        assert self.ends_within(limit_s), f"no end after {limit_s} s: {self.told}"
        return self._process.wait()

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


def n_kept(output: Path) -> int:
    """How many lines of an unfinished output are kept."""
    n_lines = 0
    for part in folder_of(output).glob("[0-9]*-*"):
        with suppress(FileNotFoundError), part.open("rb") as file:  # joined meanwhile
            file.readline()
            n_lines += json.loads(file.readline())["lines"]
    return n_lines
