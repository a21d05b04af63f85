"""What a command would take: parameters, memory, disk and time, from a few steps of its plan.

Nothing is written but the cache of prepared text. Every run asks before it trains whether there is room on the disk for
what it will save. A quota cannot be seen from here. If a run meets one, or if the disk fills up later, the save that
fails ends the run with a sentence, and what was saved before stays whole (training/launch.py).
"""

import logging
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint
from torch import nn

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.cores import n_cores
from seq2seq.dataset.batches import BatchLoader, Shape, Step
from seq2seq.dataset.plan import Rows
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.files import readable_size
from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import available_memory, is_out_of_memory
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.data import TranslationData
from seq2seq.training.fitting import WorstBatch, fitting_max_tokens
from seq2seq.training.module import new_module
from seq2seq.training.optimizer import parameters_of
from seq2seq.training.ranks import Ranks
from seq2seq.training.trainer import Machine, build_trainer, n_ranks, placement_of, set_up_machine

MOST_STEPS, MOST_SECONDS = 24, 6.0  # of measuring; the latest step is always completed
LEAST_STEPS = 5  # however long they take: the time of a single one says little
BUSY = 0.5  # processes that want a core, for each core, from which on other programs make steps slow
GOLDEN_RATIO = 0.618034  # its multiples, without their whole part, are spread evenly, however many there are
_BYTES = {"bf16-true": 2, "64-true": 8}  # of a weight; 4 in all other precisions
_EMA_BYTES = 4
_SELDOM = 100  # steps between two saves: then a whole window of `LossWatch` lies between them

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


@dataclass(frozen=True)
class CheckpointSizes:
    """Bytes of the tensors in a checkpoint. The rest, such as the tokenizer, is below a megabyte."""

    state: int  # last.ckpt, previous.ckpt: the weights, what the optimizer remembers of them, their average
    model: int  # all others: the weights

    @classmethod
    def of(cls, model: nn.Module, config: RunConfig, precision: str) -> "CheckpointSizes":
        """
        Args:
            precision: that of the run, which is not `auto`.
        """
        width, has_ema = _BYTES.get(precision, 4), bool(config.trainer.ema_decay)
        n_weights = sum({tensor.data_ptr(): tensor.numel() for tensor in model.state_dict().values()}.values())
        n_trained = sum(p.numel() for p in model.parameters())
        n_moments = 2 * n_trained  # of Adam; Muon has one
        if config.optim.optimizer == "muon":
            n_moments -= sum(p.numel() for weights in parameters_of(model)[0] for p in weights)
        state = width * (n_weights + n_moments) + (_EMA_BYTES * n_trained if has_ema else 0)
        return cls(state, n_weights * (max(width, _EMA_BYTES) if has_ema else width))

    def of_new_run(self, config: TrainerConfig, total_steps: int, steps_per_epoch: int) -> int:
        """Bytes of all checkpoints at the end of a run, at most.

        Args:
            total_steps: 0 if only time limits the run; then `trainer.keep_every_n_steps` is not counted.
            steps_per_epoch: of the shortest epochs, if they differ.
        """
        every = config.val_every_n_steps or steps_per_epoch
        n_saves = max(1, total_steps // every) if total_steps else 10**9
        # To go back to if the run diverges. If saves are seldom, they are links to the two that are there anyway.
        n_good = 2 if config.max_rollbacks and every < _SELDOM else 0
        n_kept = total_steps // config.keep_every_n_steps if config.keep_every_n_steps else 0
        n_models = min(config.keep_best, n_saves) + min(config.average_last, n_saves) + n_kept + 1  # the winner
        return min(2 + n_good, n_saves) * self.state + n_models * self.model


def check_disk_space(
    run: RunDirectory, config: TrainerConfig, sizes: CheckpointSizes, done: int, total_steps: int, *, is_new: bool
) -> None:
    """Warn if the disk of a run has too little room for all its checkpoints.

    Args:
        done: optimizer steps of the run so far.
        total_steps: of the whole run; 0 if only time limits it.
    Raises:
        RunError: there is too little room for the next save.
    """
    disk = shutil.disk_usage(run.path)
    if not disk.total:  # some network file systems do not say
        return
    now = _bytes_of_next_save(run, config, sizes, is_over=0 < total_steps <= done)
    if now > disk.free:
        remedies = ["make room", "name another run_dir" if is_new else "move the run to another disk"]
        remedies += ["set trainer.average_last=0"] if config.average_last else []
        raise RunError(
            f"the disk of run_dir={run.path} has {readable_size(disk.free)} free, and the next save takes "
            f"{readable_size(now)}; {_either(remedies)}"
        )
    in_all = _bytes_of_all_saves(run, config, sizes, done, total_steps)
    if in_all > disk.free:
        settings = {
            "average_last": config.average_last > 1,
            "keep_best": config.keep_best > 1,
            "keep_every_n_steps": config.keep_every_n_steps > 0,
        }
        fewer = [f"trainer.{name}={getattr(config, name)}" for name, is_set in settings.items() if is_set]
        remedies = ["make room", *([f"keep fewer weights ({', '.join(fewer)})"] if fewer else [])]
        log.warning(
            "the disk of run_dir=%s has %s free, and all checkpoints of this run take up to %s more; %s",
            run.path,
            readable_size(disk.free),
            readable_size(in_all),
            _either(remedies),
        )


def _bytes_of_next_save(run: RunDirectory, config: TrainerConfig, sizes: CheckpointSizes, *, is_over: bool) -> int:
    """What has to be free until a validation is saved: a file is whole before another one goes."""
    if is_over:
        return sizes.model  # the winner of the selection
    recent = sizes.model if config.average_last and not run.recent() else 0
    return max(0, sizes.state - _bytes_of_one_name(run.previous)) + sizes.model + recent


def _bytes_of_all_saves(
    run: RunDirectory, config: TrainerConfig, sizes: CheckpointSizes, done: int, total_steps: int
) -> int:
    """What has to be free until the end, for the largest number of files."""
    best = [run.best, *run.all_best()]
    good = [run.good_at(step) for step in run.good()]
    n_states = 4 if config.max_rollbacks else 2  # a state to go back to, and one on trial
    kinds = [
        (n_states * sizes.state, [run.last, run.previous, *good]),
        (config.keep_best * sizes.model, best),
        (config.average_last * sizes.model, run.recent()),
        (sizes.model, [run.selected]),
    ]
    every = config.keep_every_n_steps
    n_kept = max(0, total_steps // every - done // every) if every else 0
    being_written = sizes.model
    return sum(max(0, n - _bytes_of(there)) for n, there in kinds) + n_kept * sizes.model + being_written


def _bytes_of(files: Iterable[Path]) -> int:
    """The room that files take; two names of one file count once."""
    found = [file.stat() for file in files if file.is_file()]
    return sum({(each.st_dev, each.st_ino): each.st_size for each in found}.values())


def _bytes_of_one_name(file: Path) -> int:
    """The room that is free when this file goes."""
    with suppress(FileNotFoundError):
        found = file.stat()
        return found.st_size if found.st_nlink == 1 else 0
    return 0


def _either(remedies: list[str]) -> str:
    *others, last = remedies
    return f"{', '.join(others)} or {last}" if others else last
