"""Which of the processes on this machine this is, as torchrun, srun or somebody else says by variables.

Processes that translate one text share its blocks (`parts.py`), whoever they are; here is what they share of a machine.
"""

import os
import re
from dataclasses import dataclass

from seq2seq.cores import n_cores
from seq2seq.errors import ConfigError


@dataclass(frozen=True)
class Process:
    """This process among those of a job on this machine.

    Attributes:
        local_rank: its number, from 0.
        n_local: how many they are.
        n_local_cores: cores that they may use together.
    """

    local_rank: int
    n_local: int
    n_local_cores: int

    @property
    def n_cores(self) -> int:
        """Cores for this process. srun may have bound it to fewer than the machine has."""
        return max(1, min(n_cores(), self.n_local_cores // self.n_local))


def launched() -> Process | None:
    """This process, if it was started as one of several.

    Raises:
        ConfigError: variables are missing or wrong that say which one it is.
    """
    if "WORLD_SIZE" in os.environ:  # before those of SLURM: torchrun may run in a job of it
        return _of_torchrun()
    return _of_srun() if "SLURM_STEP_NUM_TASKS" in os.environ else None  # which only srun sets


def _of_torchrun() -> Process | None:
    if (n_processes := _number("WORLD_SIZE")) == 1:
        return None
    n_local = _number("LOCAL_WORLD_SIZE") if "LOCAL_WORLD_SIZE" in os.environ else n_processes
    return Process(_number("LOCAL_RANK"), n_local, n_cores())


def _of_srun() -> Process | None:
    if _number("SLURM_STEP_NUM_TASKS") == 1:
        return None
    n_local = _tasks_of_nodes(os.environ.get("SLURM_STEP_TASKS_PER_NODE", ""))[_number("SLURM_NODEID") :][:1]
    if not n_local:
        raise ConfigError("srun: SLURM_STEP_TASKS_PER_NODE does not say how many tasks this node has; start it by srun")
    cores = int(os.environ.get("SLURM_CPUS_ON_NODE", "0")) or n_cores()
    return Process(_number("SLURM_LOCALID"), n_local[0], cores)


def _tasks_of_nodes(text: str) -> list[int]:
    """Tasks of each node, of SLURM's short form: `2(x3),1` is 2, 2, 2, 1."""
    counts: list[int] = []
    for n_tasks, n_nodes in re.findall(r"(\d+)(?:\(x(\d+)\))?", text):
        counts += [int(n_tasks)] * int(n_nodes or 1)
    return counts


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    if not text.isdecimal():
        raise ConfigError(
            f"{name}={text!r} does not say which of several processes this is; use torchrun or srun, or unset "
            f"{'WORLD_SIZE' if not name.startswith('SLURM') else 'SLURM_STEP_NUM_TASKS'}"
        )
    return int(text)
