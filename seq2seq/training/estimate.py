"""What a command would take: parameters, memory, disk and time, from a few steps of its plan.

Nothing is written but the cache of prepared text. Every run asks before it trains whether there is room on the disk for
what it will save. A quota cannot be seen from here. If a run meets one, or if the disk fills up later, the save that
fails ends the run with a sentence, and what was saved before stays whole (training/launch.py).
"""

import logging
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.dataset.batches import Shape, Step
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.files import readable_size
from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import available_memory, telling_out_of_memory
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.composed import given_tokenizer
from seq2seq.training.data import TranslationData
from seq2seq.training.fitting import WorstBatch, fitting_max_tokens, missing_state
from seq2seq.training.module import TranslationModule, new_module
from seq2seq.training.ranks import Ranks
from seq2seq.training.trainer import Machine, build_trainer, n_ranks, restored_process, set_up_machine

MOST_STEPS, MOST_SECONDS = 24, 6.0  # of measuring; the latest step is always completed
LEAST_STEPS = 5  # however long they take: the time of a single one says little
_BYTES = {"bf16-true": 2, "64-true": 8}  # of a weight; 4 in all other precisions
MODEL_TOO_LARGE = (
    "the model itself needs more memory than there is; lower model.d_model, model.d_ff, model.n_encoder_layers or "
    "model.n_decoder_layers"
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Estimate:
    """What a run would take. Sizes are in bytes."""

    config: RunConfig
    machine: Machine
    n_parameters: int
    largest: Shape  # of all micro-batches
    memory: int | None  # of the process, at its highest in the steps; None where nobody says
    state: int  # weights, gradients, what the optimizer remembers, the average of the weights
    available: int | None
    checkpoints: int  # at most
    prepared: int
    cache: Path
    steps_per_epoch: int
    total_steps: int  # at most; 0 if only time limits the run
    seconds_per_step: float
    tokens_per_s: float  # target tokens
    n_translated: int  # target tokens after training: valid, by two candidates, and the test sets

    @property
    def seconds(self) -> float:
        """Of training, at most."""
        limits = self.total_steps * self.seconds_per_step, self.config.trainer.max_seconds
        return min(limit for limit in limits if limit)

    def render(self) -> str:
        config, every = self.config, self.config.trainer.val_every_n_steps
        threads = f", threads: {torch.get_num_threads()}" if self.machine.accelerator == "cpu" else ""
        n_pairs, n_src, n_tgt = self.largest
        duration = timedelta(seconds=round(min(self.seconds, 1e13)))  # of more, a `timedelta` overflows
        memory = readable_size(self.memory) if self.memory else "unknown"
        available = f"; {readable_size(self.available)} are available" if self.available else ""
        return (
            f"{config.name}: {config.data.src_lang} to {config.data.tgt_lang}, {self.machine.precision} on "
            f"{self.machine.accelerator}{threads}\n"
            f"parameters  {self.n_parameters / 1e6:.1f} M\n"
            f"memory      {memory} in these steps{available}\n"
            f"            weights, gradients and optimizer {readable_size(self.state)}; the largest batch has "
            f"{n_pairs} pairs of up to {n_src} and {n_tgt} tokens\n"
            f"disk        up to {readable_size(self.checkpoints)} for checkpoints, {readable_size(self.prepared)} of "
            f"prepared text in {self.cache}\n"
            f"steps       {self.steps_per_epoch:,} an epoch, {self.seconds / self.seconds_per_step:,.0f} in all\n"
            f"time        {duration} of training ({self.seconds_per_step:.2g} s a step, "
            f"{self.tokens_per_s:,.0f} target tokens a second)\n"
            f"            not measured: a validation {f'every {every:,} steps' if every else 'after each epoch'}, and "
            "the tests at the end"
        )


def estimate(config: RunConfig) -> Estimate:
    """Do some steps of the run that this configuration describes.

    Raises:
        ConfigError, CorpusError, TokenizerError, RunError: as the run would, or it would have several processes.
    """
    machine, ranks = set_up_machine(config.trainer), Ranks()
    if (n := n_ranks(config.trainer, machine)) > 1:
        raise ConfigError(
            f"--estimate measures one process, and this run would have {n}; add trainer.devices=1 trainer.n_nodes=1"
        )
    start = TrainedModel.read(config.finetune) if config.finetune else None
    prepared = prepare(config, given_tokenizer(config, start))
    if config.batch.is_auto:
        with telling_out_of_memory(MODEL_TOO_LARGE):
            config.batch.max_tokens = fitting_max_tokens(config, prepared.tokenizer, machine, ranks)
    pl.seed_everything(config.seed, workers=True, verbose=False)
    data = TranslationData(config, prepared, None, ranks)
    with telling_out_of_memory(MODEL_TOO_LARGE):
        module = new_module(config, prepared, data.total_steps, start)
    sizes = CheckpointSizes.of(module, machine.precision)
    ema = ExponentialAverage(config.trainer.ema_decay) if config.trainer.ema_decay else None
    clock = _Clock()
    callbacks = [WorstBatch(config, data, ema), *([ema] if ema else []), clock]
    trainer = build_trainer(config, machine, [], callbacks, ranks, n_steps=-1)
    available = torch.cuda.mem_get_info()[0] if machine.accelerator == "cuda" else available_memory()
    try:
        with (
            restored_process(),
            telling_out_of_memory("memory ran out in a step; lower batch.max_tokens, or end other programs"),
        ):
            trainer.fit(module, _SomeSteps(data))
    except SystemExit as error:  # as Lightning ends of a Ctrl-C
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from None
    seconds, n_tokens = clock.seconds[3::2], clock.n_tokens[3::2]  # without the largest step, which is the first
    return Estimate(
        config,
        machine,
        n_parameters=module.model.n_parameters,
        largest=data.largest,
        memory=clock.peak,
        state=sizes.state + sum(p.nbytes for p in module.parameters()),
        available=available,
        checkpoints=sizes.at_most(config.trainer, data.total_steps),
        prepared=_size(prepared),
        cache=prepared.train.directory.parents[1],
        steps_per_epoch=data.steps_per_epoch,
        total_steps=data.total_steps,
        seconds_per_step=sum(seconds) / len(seconds),
        tokens_per_s=sum(n_tokens) / sum(seconds),
        n_translated=sum(
            int(store.tgt_lengths.sum()) for store in (prepared.valid, prepared.valid, *prepared.tests.values())
        ),
    )


class _SomeSteps:
    """The step with the largest micro-batch, and the first ones of the plan, which has them in random order.

    Each twice: only the second time are memory and products as in the middle of a run.
    """

    def __init__(self, data: TranslationData) -> None:
        self.loader = data.loader
        largest = self.loader.shapes(0).index(data.largest) // self.loader.accumulate
        n = len(self.loader)
        self.numbers = [largest, *(i % n for i in range(min(MOST_STEPS, max(n, LEAST_STEPS))))]

    def __iter__(self) -> Iterator[Step]:
        end = time.perf_counter() + MOST_SECONDS
        for i, number in enumerate(self.numbers):
            if i > LEAST_STEPS and time.perf_counter() > end:
                return
            for _ in range(2):
                yield self.loader.read(0, self.loader.rows(0, number))


class _Clock(Checkpoint):
    """Times steps, and notes how much memory they take. As a `Checkpoint`, it stands for those that Lightning adds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []  # of each optimizer step
        self.n_tokens: list[int] = []
        self.began = 0.0
        self.peak: int | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        give_back_freed_memory()
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak so far: to prepare text may have taken more
        self.began = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Step, batch_idx: int
    ) -> None:
        now = time.perf_counter()
        self.n_tokens.append(batch.n_tgt_tokens)
        self.seconds.append(now - self.began)
        self.began = now

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = True  # these were all steps

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.peak = _peak(pl_module.device)


def _peak(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return None


def _size(prepared: Prepared) -> int:
    folders = {store.directory for store in (prepared.train, prepared.valid, *prepared.tests.values())}
    return sum(file.stat().st_size for folder in folders for file in folder.iterdir())


@dataclass(frozen=True)
class CheckpointSizes:
    """Bytes of the tensors in a checkpoint. The rest, such as the tokenizer, is below a megabyte."""

    state: int  # last.ckpt, previous.ckpt: the weights, what the optimizer remembers of them, their average
    model: int  # all others: the weights

    @classmethod
    def of(cls, module: TranslationModule, precision: str) -> "CheckpointSizes":
        """
        Args:
            module: before Lightning has given it its precision.
            precision: that of the run, which is not `auto`.
        """
        width, has_ema = _BYTES.get(precision, 4), module.config.trainer.ema_decay > 0
        n_weights = sum({w.data_ptr(): w.numel() for w in module.model.state_dict().values()}.values())
        state = (4 * n_weights + missing_state(module.configure_optimizers())) * width // 4
        average = sum(4 * p.numel() for p in module.model.parameters()) if has_ema else 0
        return cls(state + average, n_weights * (max(width, 4) if has_ema else width))

    def at_most(self, config: TrainerConfig, total_steps: int) -> int:
        """Bytes of all checkpoints at the end of a run.

        Args:
            total_steps: 0 if only time limits the run; then `trainer.keep_every_n_steps` is not counted.
        """
        n_states = 4 if config.max_rollbacks else 2  # a state to go back to, and one on trial
        n_kept = total_steps // config.keep_every_n_steps if config.keep_every_n_steps else 0
        return n_states * self.state + (config.keep_best + config.average_last + n_kept + 1) * self.model


def check_disk_space(run: RunDirectory, config: TrainerConfig, sizes: CheckpointSizes, total_steps: int) -> None:
    """Warn if the disk of a run has too little room for all its checkpoints.

    Args:
        total_steps: of the whole run; 0 if only time limits it.
    Raises:
        RunError: there is too little room for the next save.
    """
    disk = shutil.disk_usage(run.path)
    if not disk.total:  # some network file systems do not say
        return
    files = [file.stat() for file in run.checkpoints.glob("*.ckpt")]
    there = sum({file.st_ino: file.st_size for file in files}.values())
    # A file is whole before the one goes whose place it takes. `last` becomes `previous` first, and the file goes that
    # has no other name.
    makes_room = run.previous.is_file() and run.previous.stat().st_nlink == 1
    now = (0 if makes_room else sizes.state) + sizes.model * (2 if config.average_last and not there else 1)
    free, in_all = readable_size(disk.free), sizes.at_most(config, total_steps) + sizes.model - there
    if now > disk.free:
        raise RunError(
            f"the disk of run_dir={run.path} has {free} free, and the next save takes {readable_size(now)}; make room"
            f"{'' if there else ', or name another run_dir'}"
        )
    if in_all > disk.free:
        log.warning(
            "the disk of run_dir=%s has %s free, and all checkpoints of this run take up to %s more; make room, or "
            "lower trainer.keep_best, trainer.average_last or raise trainer.keep_every_n_steps",
            *(run.path, free, readable_size(in_all)),
        )
