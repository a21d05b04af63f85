"""How much memory there is, and how its end is told.

Importing this module does not import torch.
"""

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seq2seq.errors import ConfigError, UserError

# What CPUs, CUDA, oneDNN, C++ and CTranslate2 say when memory ran out. All of them say it in a RuntimeError.
_MEMORY_PHRASES = (
    "out of memory",
    "out_of_memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "bad_alloc",
    "std::length_error",
    "could not create a memory",
    "could not create a primitive",
    "could not execute a primitive",
    "alloc_failed",
)
_OOM_SCORE = 300  # of 1000; see `offer_to_be_killed_first`


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process and those that it starts may still use; None where nobody says, as on macOS.

    That is what the kernel could give out without swapping, or less in a container with a limit of its own (cgroups,
    version 1 or 2). Pages of files do not count as used: the kernel drops them when it needs room.

    Args:
        root: where /proc and /sys are.
    """
    amounts = [*_available_in_machine(root), *_available_in_groups(root)]
    return max(0, min(amounts)) if amounts else None


def resident_memory() -> int | None:
    """Bytes of memory that this process has now; None where nobody says, as on macOS."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _available_in_machine(root: Path) -> Iterator[int]:
    with suppress(OSError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                yield int(amount.split()[0]) << 10


def _available_in_groups(root: Path) -> Iterator[int]:
    """What each group that this process is in may still use: its own, and those around it."""
    forms = {  # by the controllers of a line in /proc/self/cgroup
        "": ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if form := next((forms[name] for name in controllers.split(",") if name in forms), None):
                top, limit, used, droppable = form
                # Inside a container the path may be that of the machine outside, which does not exist here.
                for folder in ((root / top / group.lstrip("/")), *(root / top / group.lstrip("/")).parents):
                    if not folder.is_relative_to(root / top):
                        break
                    with suppress(OSError, ValueError):  # there is no such file, or it says "max"
                        yield (
                            int((folder / limit).read_text())
                            - int((folder / used).read_text())
                            + _statistic(folder / "memory.stat", droppable)
                        )


def _statistic(file: Path, name: str) -> int:
    rows = (line.split() for line in file.read_text().splitlines())
    return next((int(row[1]) for row in rows if row[0] == name), 0)


@contextmanager
def limited_memory(n_bytes: int | None) -> Iterator[None]:
    """Let this process get at most so many bytes more in this block; None: as many as there are.

    Linux promises memory that it does not have, and kills a process that uses it. Below a limit, the process gets an
    error instead, which it can tell or repair. Other systems have no such limit, so there the block changes nothing.
    """
    if n_bytes is None or sys.platform != "linux":
        yield
        return
    in_use = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (in_use + n_bytes, before, most) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def offer_to_be_killed_first() -> None:
    """If memory runs out, the kernel should kill this worker and not its parent, which can tell what happened."""
    with suppress(OSError, ValueError):  # there is no such file outside Linux
        score = Path("/proc/self/oom_score_adj")
        score.write_text(str(min(1000, int(score.read_text()) + _OOM_SCORE)))


@contextmanager
def telling_out_of_memory(sentence: str) -> Iterator[None]:
    """
    Raises:
        ConfigError: with the sentence, if memory runs out in this block.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ConfigError(sentence) from error


def no_room_on(device: str) -> str:
    """What to say if memory runs out while a model is moved to a device."""
    return f"{device} has too little free memory for the model; end what else runs on it, or choose another device"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out: of Python, NumPy, PyTorch, oneDNN, CUDA or CTranslate2."""
    if isinstance(error, UserError):
        return False
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(phrase in str(error).lower() for phrase in _MEMORY_PHRASES)
