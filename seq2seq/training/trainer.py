"""Lightning's Trainer for a run, on the processors of this machine."""

import logging
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint, ProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.io import TorchCheckpointIO
from pytorch_lightning.strategies import Strategy
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from seq2seq.artifacts.checkpoint import why_refused, write_checkpoint
from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.config.trainer import FSDP
from seq2seq.cores import n_cores
from seq2seq.dataset.batches import Step
from seq2seq.errors import ConfigError, RunError
from seq2seq.hardware import accelerator_of, give_back_holes, precision_of, speed_up_cpu, speed_up_gpu
from seq2seq.training.ranks import Ranks
from seq2seq.training.sharded import Sharded

BATCHES_BETWEEN_TRIMS = 50


@dataclass(frozen=True)
class Machine:
    """What a run computes on, and in which precision."""

    accelerator: str
    precision: str

    @property
    def uses_bf16(self) -> bool:
        return self.precision == "bf16-mixed"


def set_up_machine(config: TrainerConfig) -> Machine:
    """Choose processor and precision, and make this process ready for them.

    Raises:
        ConfigError: the machine does not have what is asked for.
    """
    accelerator = accelerator_of(config)
    if accelerator == "cpu":
        speed_up_cpu()
        n_threads = torch.get_num_threads()
        if (wanted := config.threads or min(n_threads, n_cores())) != n_threads:  # a container may have fewer cores
            torch.set_num_threads(wanted)
    elif accelerator == "cuda":
        speed_up_gpu()
    return Machine(accelerator, precision_of(config, accelerator))


@contextmanager
def restored_process() -> Iterator[None]:
    """After this block, the number of threads and what Ctrl-C does are as before.

    `set_up_machine` sets the first, and Lightning ignores Ctrl-C once it has exited because of one.
    """
    n_threads, on_interrupt = torch.get_num_threads(), signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
        # Python refuses it in other threads, and cannot put back what it did not set.
        if threading.current_thread() is threading.main_thread() and on_interrupt is not None:
            signal.signal(signal.SIGINT, on_interrupt)


def n_devices(config: TrainerConfig, machine: Machine, ranks: Ranks) -> int:
    """On each machine, as the processes were started. The configuration may leave it out, and may not contradict it.

    Raises:
        ConfigError: it asks for other numbers, or for more GPUs than there are.
    """
    n_here, n = ranks.n_on_machine, n_ranks(config, machine)
    is_told = config.devices or config.n_nodes > 1 or not n_here
    if is_told and (n != ranks.world_size or n_here not in (0, n // config.n_nodes)):
        on_each = f", {n_here} on each machine" if n_here else ""
        raise ConfigError(
            f"trainer.devices={config.devices} and trainer.n_nodes={config.n_nodes} ask for {n} processes, and "
            f"{ranks.world_size} were started{on_each}; set trainer.devices to their number on each machine, and "
            "trainer.n_nodes to the number of machines, or leave both out"
        )
    per_node: int = n // config.n_nodes if is_told else n_here
    if machine.accelerator == "cuda" and per_node > (n_gpus := torch.cuda.device_count()):
        raise ConfigError(
            f"{per_node} processes of a machine need as many GPUs, and this one sees {n_gpus}; lower trainer.devices, "
            "or let each see all GPUs of its machine (CUDA_VISIBLE_DEVICES, --gpus-per-node)"
        )
    return per_node


def n_ranks(config: TrainerConfig, machine: Machine) -> int:
    """The number of processes that this configuration asks for."""
    per_node = config.devices or (torch.cuda.device_count() if machine.accelerator == "cuda" else 1)
    return per_node * config.n_nodes


class _AtomicCheckpoints(TorchCheckpointIO):
    """Writes checkpoints whole or not at all. Lightning would copy them from /tmp where that is another file system."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        found = {f"the callback {name}": state for name, state in checkpoint.get("callbacks", {}).items()}
        for whose, content in {**found, "a callback": checkpoint}.items():
            if reason := why_refused(content):
                raise RunError(
                    f"{whose} saves what cannot be read back ({reason}); let it save only numbers, text, lists, dicts "
                    "and tensors of Python and torch, each in one place"
                )
        write_checkpoint(checkpoint, Path(path))


def check_callbacks(callbacks: Sequence[pl.Callback]) -> None:
    """
    Raises:
        ConfigError: one needs metrics of Lightning's; there are none, since training/milestones.py validates.
    """
    for each in callbacks:
        if isinstance(each, EarlyStopping | ModelCheckpoint) and each.monitor:
            raise ConfigError(
                f"the callback {type(each).__name__} cannot see {each.monitor}; leave it out, and use trainer.monitor "
                "with trainer.patience (when to stop) and trainer.keep_best (which weights to keep)"
            )


def build_trainer(
    config: RunConfig,
    machine: Machine,
    loggers: Sequence[Logger],
    callbacks: Sequence[pl.Callback],
    ranks: Ranks,
    n_steps: int,
) -> pl.Trainer:
    """
    Args:
        ranks: all processes of the run, which have been started.
        n_steps: how many to do at most; -1: as many as the run's time allows.
    Raises:
        ConfigError: Lightning refuses a setting, or a package for it is missing.
    """
    _silence_lightning()
    settings, devices = config.trainer, n_devices(config.trainer, machine, ranks)
    try:
        return pl.Trainer(
            accelerator=machine.accelerator,
            devices=devices,
            num_nodes=ranks.world_size // devices,
            strategy=_strategy(settings.strategy, ranks),
            precision=machine.precision,  # type: ignore[arg-type]
            max_epochs=-1,
            max_steps=n_steps,
            limit_val_batches=0,  # training/milestones.py validates
            logger=list(loggers),
            callbacks=list(callbacks),
            plugins=[_AtomicCheckpoints(), ranks.environment],
            default_root_dir=config.run_dir,
            num_sanity_val_steps=0,
            enable_progress_bar=any(isinstance(each, ProgressBar) for each in callbacks),
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
    except (MisconfigurationException, ValueError, ImportError) as error:
        raise ConfigError(f"trainer: what is asked for does not work here ({error})") from error


def _strategy(name: str, ranks: Ranks) -> Strategy | str:
    """How the processes share the work; one process has nothing to split."""
    if name != FSDP:
        return name
    return Sharded() if ranks.world_size > 1 else "auto"


def _silence_lightning() -> None:
    """Ignore the advice that does not apply here."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    # More data workers would not help: the loader takes well under 2% of a step without any.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    # Whoever resumes a run without its average of weights wants that.
    warnings.filterwarnings("ignore", message=".*callbacks used to create the checkpoint.*")
    warnings.filterwarnings("ignore", message=".*`srun` command is available.*")  # one process needs none
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # Lightning 2.6 with torch 2.13; harmless


class HeapTrimming(pl.Callback):
    """Gives the holes in the heap back now and then: often enough to keep them small, too seldom to cost time.

    Each batch has tensors of its own size. When they are freed, compiled products between them stay, so holes are left
    that the next batch seldom fits. In a corpus of many lengths they grow larger than what is in use
    (docs/performance.md).
    """

    def __init__(self) -> None:
        self.n_batches = 0  # since the last time

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Step, batch_idx: int
    ) -> None:
        self.n_batches += len(batch.micro_batches)
        if self.n_batches >= BATCHES_BETWEEN_TRIMS:
            self.n_batches = 0
            give_back_holes()
