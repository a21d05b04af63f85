"""The processes of a run, and what the first one tells the others.

Only the first process composes a configuration, claims a run directory and chooses a checkpoint. The others hear of it
from a key-value store, which all of them reach over the network, whoever started them. These are its keys; N is the
number of the job in a sweep:

    N/job            configuration, id of the run, checkpoint to continue from; or nothing, if there are no more jobs
    N/NAME           what `tell` says, for example what the first process of a machine has prepared
    N/NAME/RANK      RANK has come to the place where all `meet`
    ended            how many processes have heard that there are no more jobs
    error            why the run ends in all processes
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from pytorch_lightning.plugins.environments import (
    ClusterEnvironment,
    LightningEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)
from torch.distributed import PrefixStore, Store, rendezvous  # type: ignore[attr-defined]

from seq2seq.errors import ConfigError, RunError

LONGEST_WAIT_S = 1.0  # between two looks into the store
PATIENCE_S = 5.0  # for the last words between processes
_BY_HAND = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Job:
    """What the first process tells the others to do."""

    config: Mapping[str, Any]  # of the run, as plain containers
    run_id: str
    checkpoint: str | None  # to continue from


class OwnProcesses(LightningEnvironment):
    """For Lightning: the processes of this machine, of which it has to start none."""

    def __init__(self, local_rank: int) -> None:
        super().__init__()
        self._local_rank = local_rank

    @property
    def creates_processes_externally(self) -> bool:
        return True

    def local_rank(self) -> int:
        return self._local_rank

    def node_rank(self) -> int:
        return 0


class Ranks:
    """This process among all processes of a run. Without arguments: it is the only one.

    Attributes:
        rank: of this process among all, from 0.
        world_size: how many there are.
        environment: for Lightning's Trainer.
    """

    def __init__(
        self,
        rank: int = 0,
        world_size: int = 1,
        environment: ClusterEnvironment | None = None,
        store: Store | None = None,
    ) -> None:
        self.rank, self.world_size = rank, world_size
        self.environment = environment or OwnProcesses(local_rank=rank)
        self._store = store
        self._job = -1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def is_first_on_machine(self) -> bool:
        return self.environment.local_rank() == 0

    @property
    def machine(self) -> int:
        """The number of this machine, from 0."""
        return self.environment.node_rank()

    # --- jobs ---

    def tell_job(self, job: Job | None) -> None:
        """Begin a job in all processes; None: there are no more."""
        self._job += 1
        self.tell("job", json.dumps(job and vars(job)).encode())

    def hear_job(self) -> Job | None:
        """The next job; None if there are no more."""
        self._job += 1
        content = json.loads(self.hear("job"))
        return Job(**content) if content else None

    # --- words ---

    def tell(self, name: str, value: bytes) -> None:
        """Give a value of this job to whoever hears its name."""
        if self._store is not None:
            self._store.set(f"{self._job}/{name}", value)  # type: ignore[arg-type]  # bytes are right

    def hear(self, name: str) -> bytes:
        """The value of this job that another process tells, however long that takes. A signal is noticed meanwhile.

        Raises:
            RunError: another process told an error instead.
        """
        assert self._store is not None
        key, began = f"{self._job}/{name}", time.monotonic()
        while not self._store.check([key]):
            if (message := self.error()) is not None:
                raise RunError(message)
            time.sleep(min((time.monotonic() - began) / 10 + 0.01, LONGEST_WAIT_S))
        return bytes(self._store.get(key))

    def meet(self, name: str) -> None:
        """Wait until all processes are here, however long that takes.

        Raises:
            RunError: one of them told an error instead of coming.
        """
        if self.is_first:
            for rank in range(1, self.world_size):
                self.hear(f"{name}/{rank}")
            self.tell(name, b"")
        else:
            self.tell(f"{name}/{self.rank}", b"")
            self.hear(name)

    # --- ends ---

    def fail(self, message: str) -> None:
        """Tell all processes that the run ends, and why; of several messages, the first one counts."""
        if self._store is not None:
            self._store.compare_set("error", "", message or "unknown")

    def error(self) -> str | None:
        """Why the run ends, if any process told."""
        if self._store is None or not self._store.check(["error"]):
            return None
        return self._store.get("error").decode()

    def end(self) -> None:
        """Tell all that there are no more jobs, and wait until they have heard it: this process may keep the store."""
        assert self._store is not None
        self.tell_job(None)
        end = time.monotonic() + PATIENCE_S
        while self._store.add("ended", 0) < self.world_size - 1 and time.monotonic() < end:
            time.sleep(0.05)

    def confirm_end(self) -> None:
        """Say that this process has heard that there are no more jobs."""
        assert self._store is not None
        self._store.add("ended", 1)

    # --- tensors ---

    def join(self, accelerator: str) -> None:
        """Make the process group, in which gradients are summed. Lightning uses the one that is there.

        Args:
            accelerator: what the tensors are on; text goes between processors in any case.
        """
        if self._store is None:
            return
        if accelerator == "cuda":  # otherwise all processes of a machine would begin on its first GPU
            torch.cuda.set_device(self.environment.local_rank())
        if not dist.is_initialized():
            backend = "cpu:gloo,cuda:nccl" if accelerator == "cuda" else "gloo"
            store = PrefixStore("group", self._store)
            dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.world_size)


@contextmanager
def leaving_group() -> Iterator[None]:
    """Dissolve the process group at the end of the block, so that the next job of a sweep can have one of another size.

    Lightning makes one too, of a single process, if the strategy is named.
    """
    try:
        yield
    finally:
        if dist.is_available() and dist.is_initialized():
            dist.destroy_process_group()


def launched() -> Ranks | None:
    """This process, if torchrun, SLURM or somebody else has started it as one of several.

    Raises:
        ConfigError: variables are missing or wrong that say which one it is.
    """
    environment = _environment()
    if environment is None:
        return None
    by_hand = type(environment) is LightningEnvironment
    world_size = int(os.environ["WORLD_SIZE"]) if by_hand else environment.world_size()
    if world_size == 1:
        return None
    rank = int(os.environ["RANK"]) if by_hand else environment.global_rank()
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = environment.main_address, str(environment.main_port)
    store, *_ = next(rendezvous("env://", rank, world_size, timeout=timedelta(minutes=30)))
    return Ranks(rank, world_size, environment, store)


def _environment() -> ClusterEnvironment | None:
    if TorchElasticEnvironment.detect():
        return TorchElasticEnvironment()
    if SLURMEnvironment.detect() and "SLURM_PROCID" in os.environ:  # srun sets it, salloc does not
        try:
            return SLURMEnvironment(auto_requeue=False)  # signals are Recovery's
        except RuntimeError as error:
            raise ConfigError(f"SLURM: {error}") from error
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return None
    if missing := [name for name in _BY_HAND if name not in os.environ]:
        raise ConfigError(
            f"WORLD_SIZE={os.environ['WORLD_SIZE']} says that this process is one of several, but there is no "
            f"{', '.join(missing)}; use torchrun or srun, or unset WORLD_SIZE"
        )
    return LightningEnvironment()


@contextmanager
def telling_errors(ranks: Ranks) -> Iterator[None]:
    """What ends this block in the first process also ends the others; what another one told ends it here.

    Raises:
        RunError: another process told it.
    """
    try:
        yield
    except BaseException as error:
        told = ranks.error()
        ranks.fail(str(error) or type(error).__name__)
        if told is not None and isinstance(error, RuntimeError):  # of torch, which only sees that somebody is gone
            raise RunError(told) from error
        raise
