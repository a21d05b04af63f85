"""A text to share, and translate.py as one of several processes."""

import gzip
import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.translating import Cli, sentences

# A block has a few lines then, and there are a dozen of them.
SMALL_BLOCKS = ("--max-batch-tokens", 4)
# What may end a line, and what may not; blank lines; lines of several sentences.
SOURCES = [src for src, _ in sentences(40)]
TEXT = "\n".join([*SOURCES[:9], "", *SOURCES[9:30], " ", "", "Ba be\u2028fo.\r", *SOURCES[30:], "Ba. Fo fu."]) + "\n"

_PROCESSES = multiprocessing.get_context("forkserver")  # which imports torch once
_PROCESSES.set_forkserver_preload(["torch", "seq2seq.translation.run", "seq2seq.translation.engines.pytorch"])
_PROGRAM = """
import os
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(log, 1), os.dup2(log, 2)
os.environ.update({variables!r})
from seq2seq.cli import front_door
front_door("translate", {words!r})
"""


def write(path: Path, text: str = TEXT) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def by_one(cli: Cli, *options: object, output: Path) -> bytes:
    """What a single process writes."""
    status, _, err = cli(*options, "--output", output)
    assert status == 0, err
    return output.read_bytes()


def ranks(cli: Cli, n: int, *options: object, log: Path, of: Sequence[int] | None = None) -> list[Any]:
    """Processes of one job, which have begun. What they print is added to `log`."""
    started = []
    for rank in range(n) if of is None else of:
        variables = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n), "OMP_NUM_THREADS": "1"}
        words = [str(word) for word in (*cli.defaults, *options)]
        program = _PROGRAM.format(log=str(log), variables=variables, words=words)
        process: Any = _PROCESSES.Process(target=exec, args=(program, {}))
        process.start()
        started.append(process)
    return started


def ended(processes: Sequence[Any], timeout_s: float = 60) -> list[int]:
    """Their exit statuses; minus the number of the signal that killed one."""
    for process in processes:
        process.join(timeout_s)
        if process.is_alive():
            process.kill()
            raise AssertionError(f"no end after {timeout_s} s")
    return [process.exitcode for process in processes]


def until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)
