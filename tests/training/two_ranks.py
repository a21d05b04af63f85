"""A function that two processes run together, as two ranks of a run; seconds quicker than two trainings."""

import multiprocessing
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]

_PATIENCE_S = 60


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
