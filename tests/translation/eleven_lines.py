"""A translation of eleven lines into a file, whole or interrupted."""

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from seq2seq.corpus.compression import open_binary
from seq2seq.translation.output import open_output

SUFFIXES = ["", ".gz", ".xz", ".bz2", ".zst"]
LINES = [f"Zeile {i}é" for i in range(11)]
SETTINGS = {"model": "0123abc", "beam_size": 4, "alpha": 0.6, "lengths": (1, 2)}


def record(line: str) -> bytes:
    """Some lines become several, as in n-best lists, and some are blank."""
    return f"{line.upper()}\n".encode() * (len(line) % 3)


def translate(
    path: Path,
    *,
    resume: bool = False,
    lines: Sequence[str] = LINES,
    parallel: Sequence[str] | None = None,
    fingerprint: dict[str, Any] = SETTINGS,
    every: int = 3,
    stop_after: int | None = None,
    stop: Callable[[], object] | None = None,
) -> int:
    """A translation with a checkpoint after `every` lines; how many lines an earlier one had done.

    `parallel` are lines that go with `lines`; the translation takes two lines of them in advance.
    """
    with open_output(path, fingerprint, resume=resume) as output:
        n_before = output.n_lines_done
        beside = itertools.repeat("") if parallel is None else output.follow(parallel, "--prefix")
        todo = output.skip_done(lines)
        ahead = deque(itertools.islice(beside, 2))
        for number, line in enumerate(todo, start=n_before + 1):
            ahead.extend(itertools.islice(beside, 1))
            ahead.popleft()
            if number - 1 == stop_after:
                if stop is None:
                    raise KeyboardInterrupt
                stop()
            output.write(line, record(line))
            if number % every == 0:
                output.checkpoint()
    return n_before


def interrupted(path: Path, stop_after: int, **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        translate(path, stop_after=stop_after, **options)


def text(path: Path) -> bytes:
    with open_binary(path) as file:
        return file.read()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


WHOLE = b"".join(map(record, LINES))
