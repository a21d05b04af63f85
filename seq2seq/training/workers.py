"""The other processes of a run on this machine, where nobody else started them: this command again, with a rank.

They end with the first process, however it ends, and it ends if one of them does: see `_end_with_parent` and `_watch`.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch.distributed import TCPStore  # type: ignore[attr-defined]

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.errors import ConfigError, RunError, command
from seq2seq.exit_status import note, signals_held_back
from seq2seq.training.launchers import MARK
from seq2seq.training.ranks import OwnProcesses, Ranks, leaving_group, telling_errors
from seq2seq.training.trainer import n_ranks, set_up_machine

GRACE_S = 5.0  # for this process to notice by itself that another one is gone
_HOST = "127.0.0.1"

Children = Sequence["subprocess.Popen[bytes]"]


@contextmanager
def started(config: RunConfig, run: RunDirectory) -> Iterator[Ranks]:
    """As many processes as the configuration asks for; this one is the first. At the end of the block, the others go.

    Raises:
        ConfigError: it asks for processes on several machines, which this one cannot start.
        RunError: another process ended before its time.
    """
    n = n_ranks(config.trainer, set_up_machine(config.trainer))
    if config.trainer.n_nodes > 1:
        raise ConfigError(
            f"trainer.n_nodes={config.trainer.n_nodes} needs something that starts processes on each machine; run this "
            "command with torchrun or srun, or leave trainer.n_nodes out"
        )
    if n == 1:
        with leaving_group():
            yield Ranks()
        return
    store = TCPStore(_HOST, 0, is_master=True, wait_for_workers=False)
    ranks = Ranks(0, n, OwnProcesses(local_rank=0), store)
    with _children(n, store.port, run), telling_errors(ranks), leaving_group():
        yield ranks


@contextmanager
def _children(n: int, port: int, run: RunDirectory) -> Iterator[None]:
    with signals_held_back([signal.SIGINT]):
        children = [_start(rank, n, port) for rank in range(1, n)]
    is_over = threading.Event()
    threading.Thread(target=_watch, args=(children, run, is_over), daemon=True).start()
    try:
        yield
    except RuntimeError as error:  # of torch, which lost the connection a moment ago
        if dead := _wait_for_death(children):
            raise RunError(_obituary(dead, run)) from error
        raise
    finally:
        is_over.set()
        for child in children:
            assert child.stdin is not None
            child.stdin.close()
        for child in children:
            try:
                child.wait(timeout=GRACE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _start(rank: int, n: int, port: int) -> "subprocess.Popen[bytes]":
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n, "MASTER_ADDR": _HOST, "MASTER_PORT": port, MARK: 1}
    env = os.environ | {name: str(value) for name, value in place.items()}
    return subprocess.Popen([sys.executable, *sys.orig_argv[1:]], stdin=subprocess.PIPE, env=env)


def started_here() -> Ranks | None:
    """This process, if it is one that `started` has started. Then it ends with the one that did."""
    if MARK not in os.environ:
        return None
    threading.Thread(target=_end_with_parent, daemon=True).start()
    store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    rank = int(os.environ["RANK"])
    return Ranks(rank, int(os.environ["WORLD_SIZE"]), OwnProcesses(local_rank=rank), store)


def _end_with_parent() -> None:
    """Wait until nobody can write to stdin any more: the process at its other end is gone, or done.

    This one gets no time to tidy up, and needs none: only the first process writes.
    """
    os.read(0, 1)  # not `sys.stdin`, whose lock would hinder the end of Python
    os._exit(1)


def _watch(children: Children, run: RunDirectory, is_over: threading.Event) -> None:
    """End this process if a child is gone and the main thread does not notice it, as one that waits for its GPU."""
    while not is_over.wait(0.2):
        if (dead := _first_dead(children)) and not is_over.wait(GRACE_S):
            note(f"error: {_obituary(dead, run)}")
            os._exit(2)  # and so do the children


def _wait_for_death(children: Children) -> tuple[int, int] | None:
    end = time.monotonic() + GRACE_S
    while (dead := _first_dead(children)) is None and time.monotonic() < end:
        time.sleep(0.05)
    return dead


def _first_dead(children: Children) -> tuple[int, int] | None:
    """Rank and status of a child that has failed."""
    return next(((rank, status) for rank, child in enumerate(children, start=1) if (status := child.poll())), None)


def _obituary(dead: tuple[int, int], run: RunDirectory) -> str:
    rank, status = dead
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    remedy = (
        f"continue with: {command('train', f'resume={run.path}')}" if run.has_checkpoints else "start the run again"
    )
    return f"process {rank} of this run {how}, so all of it ends; {remedy}"
