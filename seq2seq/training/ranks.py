"""The processes of a run, and what the first one tells the others.

Only the first process composes a configuration, claims a run directory and chooses a checkpoint. The others hear of it
from a key-value store, which all of them reach over the network, whoever started them. These are its keys:

    NAME             what `tell` says: the run, or what the first process of a machine has prepared
    NAME/RANK        RANK has come to the place where all `meet`
    error            why the run ends in all processes
"""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import torch
import torch.distributed as dist
from pytorch_lightning.plugins.environments import (
    ClusterEnvironment,
    LightningEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)
from torch.distributed import PrefixStore, Store, rendezvous  # type: ignore[attr-defined]

from seq2seq.errors import ConfigError, RunError, UserError
from seq2seq.training.processes import TrainingInterrupted, seconds_of

START_S = 600  # for all processes to come; the variable SEQ2SEQ_START_TIMEOUT has another number
LONGEST_WAIT_S = 1.0  # between two looks into the store
_BY_HAND = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class OneProcess(LightningEnvironment):
    """For Lightning: it has to start no process."""

    @property
    def creates_processes_externally(self) -> bool:
        return True


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
        self.environment = environment or OneProcess()
        self._store = store

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def is_first_on_machine(self) -> bool:
        return self.environment.local_rank() == 0

    @property
    def n_on_machine(self) -> int:
        """How many processes each machine has; 0 if only the configuration knows."""
        if self.world_size == 1:
            return 1
        is_slurm = isinstance(self.environment, SLURMEnvironment)
        return int(os.environ.get("SLURM_NTASKS_PER_NODE" if is_slurm else "LOCAL_WORLD_SIZE", 0))

    @property
    def machine(self) -> int:
        """The number of this machine, from 0."""
        return self.environment.node_rank()

    # --- words ---

    def tell(self, name: str, value: bytes) -> None:
        """Give a value to whoever hears its name."""
        if self._store is not None:
            self._store.set(name, value)  # type: ignore[arg-type]  # bytes are right

    def hear(self, name: str) -> bytes:
        """The value that another process tells, however long that takes. A signal is noticed meanwhile.

        Raises:
            RunError: another process told an error instead.
        """
        assert self._store is not None
        began = time.monotonic()
        while not self._store.check([name]):
            if (message := self.error()) is not None:
                raise RunError(message)
            time.sleep(min((time.monotonic() - began) / 10 + 0.01, LONGEST_WAIT_S))
        return bytes(self._store.get(name))

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

    def error(self) -> str | None:
        """Why the run ends, if any process told."""
        if self._store is None or not self._store.check(["error"]):
            return None
        return self._store.get("error").decode()

    @contextmanager
    def ending_together(self) -> Iterator[None]:
        """What ends this block in one process ends it in all. Of several errors, the first one is told in all.

        Raises:
            RunError: another process told it, or is gone without a word.
        """
        try:
            yield
        except TrainingInterrupted:  # in all of them
            raise
        except Exception as error:
            is_consequence = isinstance(error, RuntimeError) and _is_connection_lost(error)
            message = f"process {self.rank} of this run failed [{type(error).__name__}]; what it printed says more"
            if is_consequence:
                message = "another process of this run is gone, so all of it ends"
            elif isinstance(error, UserError):
                message = str(error)
            told = None
            with suppress(RuntimeError):  # whoever keeps the store is gone, too
                told = self.error()
                if self._store is not None:
                    self._store.compare_set("error", "", message)
            if is_consequence or (told and isinstance(error, RuntimeError)):
                raise RunError(told or message) from error
            raise

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
    """Dissolve the process group at the end of the block. Of one process, Lightning makes it, for a named strategy."""
    try:
        yield
    finally:
        if dist.is_available() and dist.is_initialized():
            dist.destroy_process_group()


def launched() -> Ranks | None:
    """This process, if torchrun, SLURM or somebody else has started it as one of several.

    Raises:
        ConfigError: variables are missing or wrong that say which one it is.
        RunError: the processes do not find each other.
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
    return Ranks(rank, world_size, environment, _store(rank, world_size))


def _store(rank: int, world_size: int) -> Store:
    """What all processes reach. All are there when this returns.

    Raises:
        ConfigError: SEQ2SEQ_START_TIMEOUT is no number of seconds.
        RunError: some never come, or the first one cannot be reached.
    """
    seconds = seconds_of("SEQ2SEQ_START_TIMEOUT", START_S)
    try:
        store, *_ = next(rendezvous("env://", rank, world_size, timeout=timedelta(seconds=seconds)))
        return _welcome_all(store, world_size, seconds) if rank == 0 else _be_welcomed(store, rank, seconds)
    except RuntimeError as error:  # of torch, in many words
        raise _do_not_meet(" ".join(str(error).split())[:200], seconds) from error


# torchrun keeps one store for all attempts of a run, with all that those before have written. So the first process
# names the new attempt, and the others know it for new by an answer to what only they could ask.


def _welcome_all(store: Store, world_size: int, seconds: float) -> Store:
    attempt, missing, end = uuid.uuid4().hex, list(range(1, world_size)), time.monotonic() + seconds
    store.set("attempt", attempt)
    part = PrefixStore(attempt, store)
    while missing:
        for rank in [each for each in missing if part.check([f"{each}/asks"])]:
            part.set(f"{rank}/hears", part.get(f"{rank}/asks"))  # type: ignore[arg-type]  # bytes are right
            missing.remove(rank)
        if time.monotonic() > end:
            error = _do_not_meet(f"missing: process {', '.join(map(str, missing))}", seconds)
            part.compare_set("error", "", str(error))
            raise error
        time.sleep(0.01)
    return part


def _be_welcomed(store: Store, rank: int, seconds: float) -> Store:
    question, end = uuid.uuid4().hex, time.monotonic() + seconds
    while time.monotonic() < end:
        if store.check(["attempt"]):
            part = PrefixStore(store.get("attempt").decode(), store)
            part.set(f"{rank}/asks", question)
            if part.check([f"{rank}/hears"]) and part.get(f"{rank}/hears").decode() == question:
                return part
        time.sleep(0.05)
    raise _do_not_meet(f"process {rank} has not seen the first one", seconds)


def _do_not_meet(why: str, seconds: float) -> RunError:
    place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    return RunError(
        f"the processes of this run did not meet at {place}, where they wait {seconds:g} seconds [{why}]; look at what "
        "each of them printed, whether all machines reach this place, and whether another program has it (MASTER_ADDR, "
        "MASTER_PORT; docs/cluster.md)"
    )


def _environment() -> ClusterEnvironment | None:
    if TorchElasticEnvironment.detect():
        return TorchElasticEnvironment()
    # Only srun sets it. What sbatch and salloc set is of the whole job; a shell by `srun --pty` is one task alone.
    if (n_tasks := os.environ.get("SLURM_STEP_NUM_TASKS", "1")) != "1" and "SLURM_PTY_PORT" not in os.environ:
        os.environ["SLURM_NTASKS"] = n_tasks
        os.environ["SLURM_NTASKS_PER_NODE"] = str(_tasks_on_each_node())
        return SLURMEnvironment(auto_requeue=False)  # signals are those of `StopSignals`
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return None
    if missing := [name for name in _BY_HAND if name not in os.environ]:
        raise ConfigError(
            f"WORLD_SIZE={os.environ['WORLD_SIZE']} says that this process is one of several, but there is no "
            f"{', '.join(missing)}; use torchrun or srun, or unset WORLD_SIZE"
        )
    if wrong := [name for name in _BY_HAND if name != "MASTER_ADDR" and not os.environ[name].isdecimal()]:
        raise ConfigError(
            f"{wrong[0]}={os.environ[wrong[0]]!r} is not a number from 0; use torchrun or srun, or unset WORLD_SIZE"
        )
    return LightningEnvironment()


def _tasks_on_each_node() -> int:
    """Of this step: what the job asked for may be another number, or missing.

    Raises:
        ConfigError: the variables of SLURM contradict each other, or nodes have different numbers of tasks.
    """
    named = os.environ.get("SLURM_NTASKS_PER_NODE", "")
    tasks = os.environ.get("SLURM_STEP_TASKS_PER_NODE") or os.environ.get("SLURM_TASKS_PER_NODE") or named
    n_tasks, n_nodes = os.environ["SLURM_NTASKS"], os.environ.get("SLURM_NNODES", "1")
    if "," in tasks:
        raise ConfigError(
            f"SLURM started {tasks} tasks on the nodes of this job, and a run needs the same number on each; give "
            "--nodes and --ntasks-per-node instead of --ntasks"
        )
    each = tasks.partition("(")[0] or str(int(n_tasks) // int(n_nodes))  # such as 4(x2)
    if not (each.isdigit() and int(each) * int(n_nodes) == int(n_tasks)):
        raise ConfigError(
            f"SLURM_NTASKS={n_tasks}, but there are SLURM_NNODES={n_nodes} nodes with {each} tasks each; give srun "
            "--nodes and --ntasks-per-node, or unset the variables of SLURM"
        )
    return int(each)


def _is_connection_lost(error: RuntimeError) -> bool:
    """Whether an error of torch only says that somebody is gone. Gloo's have no class of their own."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)
