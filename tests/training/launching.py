"""Training commands that run while a test does something else."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from tests import processes
from tests.nightly import IS_NIGHTLY
from tests.places import ROOT

TRAIN = str(ROOT / "train.py")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone")
LAUNCHERS = ("WANDB_", "SEQ2SEQ_", "SLURM_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_", "NODE_RANK")

Process: TypeAlias = subprocess.Popen[str] | processes.Warm


@contextmanager
def started(*words: object, cwd: Path, is_fresh: bool = IS_NIGHTLY, **variables: Any) -> Iterator[Process]:
    """A Python program in a session of its own, all of which is killed at the end of the block.

    It begins at once, forked from a process that has imported torch and Lightning. Those that it starts are fresh.

    Args:
        words: of the command, after `python`.
        is_fresh: whether it starts anew, too.
        variables: of its environment, beside those of this process.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    env |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)} | {name: str(value) for name, value in variables.items()}
    command = list(map(str, words))
    is_fresh |= not processes.CAN_FORK or command[0] == "-c" or command[:2] == [*TORCHRUN[:2]]
    process = _fresh(command, env, cwd) if is_fresh else processes.Warm(command, env=env, cwd=cwd)
    try:
        yield process
    finally:
        for pid in _group(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


def _fresh(words: list[str], env: Mapping[str, str], cwd: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(*words: object, cwd: Path, **variables: Any) -> tuple[int, str]:
    """Run it to its end; its status and its stderr."""
    with started(*words, cwd=cwd, **variables) as process:
        return end_of(process)


def end_of(process: Process) -> tuple[int, str]:
    """Its status and its stderr, when it has ended."""
    _, err = process.communicate(timeout=240)
    return process.wait(), err


def others(process: Process) -> list[int]:
    """The processes that it has started."""
    return [pid for pid in _group(process.pid) if pid != process.pid]


def wait_for(condition: Callable[[], object], process: Process | None = None) -> None:
    """Wait until something is so, while a process that makes it so is alive."""
    end = time.monotonic() + 240
    while not condition():
        assert process is None or process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.05)


def free_port() -> int:
    """One that the system gives to nobody until it is used, and that no other process of the tests tries first."""
    for port in range(10_000 + os.getpid() * 20 % 20_000, 32_000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no free ports")


def _group(leader: int) -> Sequence[int]:
    """The living processes of a process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has just ended
            continue
        if int(group) == leader and state != "Z":
            found.append(int(stat.parent.name))
    return found
