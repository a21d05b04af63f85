"""What a command would take: parameters, memory, disk and time, from a few steps of its plan.

Nothing is written but the cache of prepared text.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig
from seq2seq.cores import n_cores
from seq2seq.dataset.batches import BatchLoader, Shape, Step
from seq2seq.dataset.plan import Rows
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.files import readable_size
from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import available_memory, is_out_of_memory
from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.callbacks.worst_batch import WorstBatch
from seq2seq.training.data import TranslationData
from seq2seq.training.disk_space import CheckpointSizes
from seq2seq.training.fitting import fitting_max_tokens
from seq2seq.training.module import new_module
from seq2seq.training.ranks import Ranks
from seq2seq.training.trainer import Machine, build_trainer, n_ranks, placement_of, set_up_machine

MOST_STEPS, MOST_SECONDS = 24, 6.0  # of measuring; the latest step is always completed
LEAST_STEPS = 5  # however long they take: the time of a single one says little
BUSY = 0.5  # processes that want a core, for each core, from which on other programs make steps slow
GOLDEN_RATIO = 0.618034  # its multiples, without their whole part, are spread evenly, however many there are


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
    paces: list[float]  # of each step that was measured: its seconds for a target token, as a multiple of the mean
    load: float  # processes that wanted a core before

    @property
    def seconds(self) -> float:
        """Of training, at most."""
        return self._seconds_at(1.0)

    def _seconds_at(self, pace: float) -> float:
        limits = [self.total_steps * self.seconds_per_step * pace, self.config.trainer.max_seconds]
        return min(limit for limit in limits if limit)

    def render(self) -> str:
        config, every = self.config, self.config.trainer.val_every_n_steps
        threads = f", threads: {torch.get_num_threads()}" if self.machine.accelerator == "cpu" else ""
        validations = f"every {every:,} steps" if every else "after each epoch"
        n_pairs, n_src, n_tgt = self.largest
        memory = readable_size(self.memory) if self.memory else "unknown"
        available = f"; {readable_size(self.available)} are available" if self.available else ""
        steps = min(self.total_steps or 10**12, int(self.seconds / self.seconds_per_step))
        fastest, slowest = (_duration(self._seconds_at(pace(self.paces))) for pace in (min, max))
        is_busy = self.load > BUSY * n_cores()
        busy = f"; other programs keep this machine busy (load {self.load:.1f}), alone it is faster" if is_busy else ""
        span = f"{fastest} to {slowest} at the pace of the fastest and the slowest of {len(self.paces)} steps{busy}"
        rows = {
            "parameters": f"{self.n_parameters / 1e6:.1f} M",
            "memory": f"{memory} in these steps{available}",
            "": f"weights, gradients and optimizer {readable_size(self.state)}; the largest batch has {n_pairs} pairs "
            f"of up to {n_src} and {n_tgt} tokens",
            "disk": f"up to {readable_size(self.checkpoints)} for checkpoints, "
            f"{readable_size(self.prepared)} of prepared text in {self.cache}",
            "steps": f"{self.steps_per_epoch:,} an epoch, {steps:,} in all",
            "time": f"{_duration(self.seconds)} of training ({self.seconds_per_step:.2g} s a step, "
            f"{self.tokens_per_s:,.0f} target tokens a second)",
            " ": span,
            "  ": f"not measured: a validation {validations}, and the tests at the end",
        }
        title = f"{config.name}: {config.data.src_lang} to {config.data.tgt_lang}, {self.machine.precision} on "
        lines = [f"{name.strip():<12}{text}" for name, text in rows.items()]
        return "\n".join([f"{title}{self.machine.accelerator}{threads}", *lines])


def estimate(config: RunConfig) -> Estimate:
    """Do some steps of the run that this configuration describes.

    Raises:
        ConfigError, CorpusError, TokenizerError, RunError: as the run would, or it would have several processes.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    machine, ranks = set_up_machine(config.trainer), Ranks()
    if (n := n_ranks(config.trainer, machine)) > 1:
        raise ConfigError(
            f"--estimate measures one process, and this run would have {n}; add trainer.devices=1 trainer.n_nodes=1"
        )
    start = TrainedModel.read(config.finetune) if config.finetune else None
    prepared = prepare(config, start.tokenizer if start else None)
    if config.batch.is_auto:
        config.batch.max_tokens = fitting_max_tokens(config, prepared.tokenizer, machine, ranks)
    pl.seed_everything(config.seed, workers=True, verbose=False)
    data = TranslationData(config, prepared, None, ranks)
    total_steps = data.total_steps
    module = new_module(config, prepared, total_steps, start)
    sizes = CheckpointSizes.of(module.model, config, machine.precision)
    ema = ExponentialAverage(config.trainer.ema_decay) if config.trainer.ema_decay else None
    clock = _Clock()
    callbacks = [WorstBatch(config, data, ema), *([ema] if ema else []), clock]
    placement = placement_of(config.trainer, machine, ranks)
    trainer = build_trainer(config, machine, [], callbacks, placement, n_steps=-1)
    available = _available(machine)
    try:
        trainer.fit(module, _SomeSteps(data.loader, _spread(data)))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunError("memory ran out in a step; lower batch.max_tokens, or end other programs") from error
    measured = list(zip(clock.seconds[3::2], clock.n_tokens[3::2], strict=True))
    seconds, n_tokens = (sum(of_step) for of_step in zip(*measured, strict=True))
    state = [2 * p.nbytes + (4 * p.numel() if ema else 0) for p in module.model.parameters()]
    state += [t.nbytes for of_p in trainer.optimizers[0].state.values() for t in of_p.values() if torch.is_tensor(t)]
    return Estimate(
        config,
        machine,
        n_parameters=module.model.n_parameters,
        largest=data.largest,
        memory=clock.peak,
        state=sum(state),
        available=available,
        checkpoints=sizes.of_new_run(config.trainer, total_steps, data.steps_per_epoch),
        prepared=_size(prepared),
        cache=prepared.train.directory.parents[1],
        steps_per_epoch=data.steps_per_epoch,
        total_steps=total_steps,
        seconds_per_step=seconds / len(measured),
        tokens_per_s=n_tokens / seconds,
        paces=[of_step / n * n_tokens / seconds for of_step, n in measured],
        load=load,
    )


def _spread(data: TranslationData) -> list[list[Rows]]:
    """Steps of the first epoch: first the one with the largest micro-batch, then those of all lengths."""
    loader, shapes = data.loader, data.loader.shapes(0)
    of_steps = [shapes[i : i + loader.accumulate] for i in range(0, len(shapes), loader.accumulate)]
    n_whole = max(1, len(shapes) // loader.accumulate)  # the last step may have fewer micro-batches
    numbers = [
        min(shapes.index(data.largest) // loader.accumulate, n_whole - 1),
        *_spread_over_lengths(of_steps[:n_whole]),
    ]
    return [loader.rows(0, number) for number in numbers]


def _spread_over_lengths(steps: list[list[Shape]]) -> list[int]:
    """Numbers of steps, long and short ones in turn. However many of them are done, they are spread evenly.

    Of fewer than `LEAST_STEPS`, some come again.
    """
    n = len(steps)
    by_length = sorted(range(n), key=lambda i: sum(shape.n_src + shape.n_tgt for shape in steps[i]))
    return [by_length[int((0.5 + i * GOLDEN_RATIO) % 1 * n)] for i in range(min(MOST_STEPS, max(n, LEAST_STEPS)))]


class _SomeSteps:
    """Each of these steps twice: only the second time are memory and products as in the middle of a run."""

    def __init__(self, loader: BatchLoader, steps: list[list[Rows]]) -> None:
        self.loader, self.steps = loader, steps

    def __iter__(self) -> Iterator[Step]:
        end = time.perf_counter() + MOST_SECONDS
        for i, rows in enumerate(self.steps):
            if i > LEAST_STEPS and time.perf_counter() > end:
                return
            for _ in range(2):
                yield self.loader.read(0, rows)


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
        self.n_tokens.append(batch.n_tgt_tokens)
        now = time.perf_counter()
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


def _available(machine: Machine) -> int | None:
    return torch.cuda.mem_get_info()[0] if machine.accelerator == "cuda" else available_memory()


def _size(prepared: Prepared) -> int:
    folders = {store.directory for store in (prepared.train, prepared.valid, *prepared.tests.values())}
    return sum(file.stat().st_size for folder in folders for file in folder.iterdir())


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"
