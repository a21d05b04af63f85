"""Two processes that are two ranks of a run, of a function or of `train.py`, without the seconds of two starts."""

import multiprocessing
import os
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]

from tests.training.launching import free_port
from tests.training.tiny_runs import command

needs_gloo = pytest.mark.skipif(not hasattr(os, "fork"), reason="gloo on this system is not tested")
_PATIENCE_S = 60
# A launcher of one's own. It forks, so that all processes have what one has imported.
_LAUNCHER = """
import os
from lightning_fabric.utilities.rank_zero import rank_zero_only
from seq2seq.cli import front_door

others = []
for rank in range(1, {n}):
    if (pid := os.fork()) == 0:
        break
    others.append(pid)
else:
    rank = 0
os.environ |= {{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "{n}", "LOCAL_WORLD_SIZE": "{n}"}}
rank_zero_only.rank = rank  # Lightning asks when it is imported
{before}
try:
    front_door("train")
finally:
    for pid in others if rank == 0 else []:
        os.waitpid(pid, 0)
"""


def launcher(folder: Path, before: str = "", n: int = 2) -> Path:
    """A `train.py` that makes so many processes of itself, which meet `at_a_free_port`.

    Args:
        before: what each of them does first, in Python; its `rank` is known.
    """
    path = folder / "train.py"
    path.write_text(_LAUNCHER.format(before=before, n=n))
    return path


def at_a_free_port() -> dict[str, Any]:
    """Variables of the environment."""
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}


def train_together(folder: Path, *words: str, before: str = "", n: int = 2) -> subprocess.CompletedProcess[str]:
    """The run of so many processes that the words describe; see `launcher`."""
    return command(*words, script=launcher(folder, before, n), env=at_a_free_port())


def in_two_processes(function: Callable[[int], Any], folder: Path) -> list[Any]:
    """What the function returns in each of them, by rank.

    Args:
        function: takes the rank; no gradients, since torch cannot compute them in a fork.
        folder: an empty one, where the processes meet.
    """
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()

    def work(rank: int) -> None:
        store = FileStore(str(folder / "ranks"), 2)
        patience = timedelta(seconds=_PATIENCE_S)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=patience)
        results.put((rank, function(rank)))
        dist.destroy_process_group()

    processes = [context.Process(target=work, args=(rank,)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(_PATIENCE_S)
        process.kill()
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    return [value for _, value in sorted(results.get() for _ in range(2))]
