"""How the speed benchmarks compare: contenders in turn, each in a fresh process, and ratios within rounds."""

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from seq2seq.cores import n_cores

_Case = TypeVar("_Case")


def in_turn(cases: Sequence[_Case], n_rounds: int) -> Iterator[tuple[int, _Case]]:
    """Every case once a round, with the number of the round, from 1.

    Every second round goes backwards. So a machine that grows slower all the time favours nobody.
    """
    for number in range(1, n_rounds + 1):
        for case in cases if number % 2 else reversed(cases):
            yield number, case


def in_fresh_process(command: Sequence[object]) -> dict[str, Any]:
    """The JSON object in the last line of a command's output.

    A process of its own, so that peak memory, allocator and compiled kernels are its own. What it says on stderr is
    shown if it fails.
    """
    # Without the shell's settings of threads, so that each contender chooses for itself.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{done.stdout[-2000:]}{done.stderr}\nThis failed: {' '.join(words[:2])}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios within the rounds. So nothing that slows down a whole round counts."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def as_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (titles, ["---"] * len(titles), *rows))


def memory_mb(field: str) -> float:
    """What Linux says of the memory of this process: VmRSS is what it has, VmHWM the most that it had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1000


def machine() -> dict[str, Any]:
    """Where a measurement was made."""
    return {"processor": _processor(), "cores": n_cores(), "python": platform.python_version()}


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
