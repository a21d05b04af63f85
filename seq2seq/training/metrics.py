"""What is measured while a run trains, and what a person sees of it.

How far it is, its loss and speed, and how large weights, gradients and updates are.
"""

import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from torch import Tensor, nn

from seq2seq.dataset.batches import Step
from seq2seq.memory import resident_memory
from seq2seq.training.data import TranslationData
from seq2seq.training.module import TranslationModule
from seq2seq.training.sharded import whole
from seq2seq.vocabulary import PAD

TOKENS, HOURS = "progress/tgt_tokens", "progress/hours"
STEPS_BETWEEN = 100  # a step that is measured takes a copy of the weights, and makes the host wait for a GPU
# What the name of a parameter contains, from the first that fits: `encoder.layers.0.self_attention.to_q.weight`.
_KINDS = {
    "norm": "norms",
    "self_attention": "self_attention",
    "cross_attention": "cross_attention",
    "feed_forward": "feed_forward",
}
_SHOWN = {  # of a validation: title and digits
    "loss": ("loss", 3),
    "perplexity": ("perplexity", 2),
    "accuracy": ("accuracy", 3),
    "bleu": ("BLEU", 2),
    "chrf": ("chrF", 2),
}
SECONDS_BETWEEN_LINES = 30  # where there is no terminal


class Counters(pl.Callback):
    """Counts on when a run is resumed, and gives each row of metrics its place on every x-axis.

    Hours are those of training: steps, validations and saves, but not preparation, the tests at the end, and the time
    between the parts of a run. The sum of tokens stays on the device between two logs, so that no step waits for a GPU.
    """

    def __init__(self, data: TranslationData) -> None:
        self.data = data
        self.n_tgt_tokens: Any = 0  # of all ranks
        self.began: float | None = None
        self.seconds_before = 0.0  # of the earlier parts of a resumed run
        self.spent = dict.fromkeys(("loading", "validation", "saving", "tracking"), 0.0)  # seconds

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = time.perf_counter()
        self._tell_time(trainer, pl_module)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        self.n_tgt_tokens = self.n_tgt_tokens + pl_module.n_step_tokens
        self._tell_time(trainer, pl_module)

    def _tell_time(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Let all ranks go by the clock of the first one. Otherwise their learning rates and weights would drift."""
        assert isinstance(module, TranslationModule)
        if limit := module.config.trainer.max_seconds:
            module.time_spent = trainer.strategy.broadcast(self.seconds / limit)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """The time in this block goes into one of `spent`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] += time.perf_counter() - began

    def log_row(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        """Give all loggers the metrics of the latest step."""
        with self.timed("tracking"):
            row = {**metrics, TOKENS: int(self.n_tgt_tokens), HOURS: self.seconds / 3600}
            for logger in module.loggers:  # which count steps from 0, as Lightning does
                logger.log_metrics(row, module.n_steps - 1)

    @property
    def seconds(self) -> float:
        """Of training, up to now."""
        return self.seconds_before + (time.perf_counter() - self.began if self.began is not None else 0.0)

    def times(self) -> dict[str, float]:
        """Metrics: what the time went into since the run began, in seconds."""
        return {f"time/{what}_s": seconds for what, seconds in self._spent().items()}

    def _spent(self) -> dict[str, float]:
        return self.spent | {"loading": self.spent["loading"] + self.data.loader.waited_s}

    def state_dict(self) -> dict[str, Any]:
        return {"tgt_tokens": int(self.n_tgt_tokens), "seconds": self.seconds, "spent": self._spent()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.n_tgt_tokens, self.seconds_before = int(state_dict["tgt_tokens"]), float(state_dict["seconds"])
        self.spent = {what: float(state_dict["spent"][what]) for what in self.spent}


class StepMetrics(pl.Callback):
    """Logs the metrics of every n-th step, and the target tokens a second of all processes since the last log,
    and the padding of this one.

    Time in validation does not count. Sums stay on the device between two logs, so that nothing waits for a GPU. It
    logs before the state is saved: Lightning would do it after that, and a run that dies in between would lose a row.
    """

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.n_tokens: Any = 0  # of both sides, on this rank
        self.n_tgt: Any = 0  # target tokens of all ranks
        self.n_slots = 0
        self.seconds = 0.0
        self.began = 0.0
        self.tokens_per_s, self.loss = 0.0, math.nan  # as logged last

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = time.perf_counter()  # a run resumed within an epoch does not start this epoch

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Step, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        for each in batch.micro_batches:
            self.n_tokens = self.n_tokens + each.n_tgt_tokens + (each.src != PAD).sum()
            self.n_slots += each.src.numel() + each.tgt_out.numel()
        self.n_tgt = self.n_tgt + pl_module.n_step_tokens
        now = time.perf_counter()
        self.seconds, self.began = self.seconds + now - self.began, now
        if pl_module.n_steps % pl_module.config.trainer.log_every_n_steps == 0:
            self._log(pl_module)

    def _log(self, module: TranslationModule) -> None:
        self.tokens_per_s = float(self.n_tgt) / self.seconds
        metrics = {name: float(value) for name, value in module.of_step.items()} | {
            "train/tgt_tokens_per_s": self.tokens_per_s,
            "train/padding_share": 1 - float(self.n_tokens) / self.n_slots,
            "epoch": self.counters.data.epoch,
        }
        metrics["train/perplexity"] = math.exp(min(metrics["train/loss"], 100.0))
        if (resident := resident_memory()) is not None:
            metrics["train/process_memory_gb"] = resident / 1e9
        if torch.cuda.is_available():
            metrics["train/device_memory_gb"] = torch.cuda.max_memory_allocated() / 1e9
        self.counters.log_row(module, metrics)
        self.loss = metrics["train/loss"]
        self.n_tokens, self.n_tgt, self.n_slots, self.seconds = 0, 0, 0, 0.0

    def leave_out_validation(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        """The time since the latest step was that of a validation."""
        self.began = time.perf_counter()


def part_of(name: str) -> str:
    """The part of the model that a parameter belongs to, such as `decoder_cross_attention`."""
    half = name.split(".")[0]
    kind = next((kind for word, kind in _KINDS.items() if word in name), "")
    return f"{half}_{kind}" if kind else half


class Norms(pl.Callback):
    """Logs Euclidean norms of each part at every 100th step: its weights, their gradient, and what the step changed.

    The gradient is that of all ranks, before it is clipped. An update that is 0.001 of its weights is usual; one of 0.1
    is a learning rate that is too high. The copy of the weights lives from the end of the backward pass to the end of
    the step, when the memory of the activations is free.
    """

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.before: list[Tensor] = []
        self.gradients: dict[str, Tensor] = {}

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        if pl_module.n_steps % STEPS_BETWEEN == 0:
            names, weights = _weights(pl_module)
            self.before = [weight.detach().clone() for weight in weights]
            self.gradients = _norms_of_parts(
                names, (torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights)
            )

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: object, batch: object, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        if not self.before:
            return
        names, weights = _weights(pl_module)
        updates = torch._foreach_sub([weight.detach() for weight in weights], self.before)
        self.before = []
        found = {
            "weight_norm": _norms_of_parts(names, weights),
            "grad_norm": self.gradients,
            "update_norm": _norms_of_parts(names, updates),
        }
        values = torch.stack([norm for norms in found.values() for norm in norms.values()]).tolist()
        keys = [f"{kind}/{part}" for kind, norms in found.items() for part in norms]
        self.counters.log_row(pl_module, dict(zip(keys, values, strict=True)))


def _weights(module: TranslationModule) -> tuple[list[str], list[nn.Parameter]]:
    names, weights = zip(*module.model.named_parameters(), strict=True)
    return list(names), list(weights)


@torch.no_grad()
def _norms_of_parts(names: list[str], tensors: Iterable[Tensor]) -> dict[str, Tensor]:
    norms: dict[str, list[Tensor]] = {}
    for name, norm in zip(names, torch._foreach_norm(list(tensors)), strict=True):
        norms.setdefault(part_of(name), []).append(whole(norm).float())
    return {part: torch.stack(found).norm() for part, found in norms.items()}


class ProgressReport(pl.Callback):
    """Loss, speed and time left; one line for each validation.

    Args:
        total_steps: optimizer steps of the run; 0 if only time limits it.
    """

    def __init__(self, meter: StepMetrics, total_steps: int) -> None:
        self.meter, self.total_steps = meter, total_steps
        self.console = Console(stderr=True, highlight=False)
        self.bar: Progress | None = None
        self.task = TaskID(0)
        self.began, self.share_before, self.last_line = 0.0, 0.0, 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = self.last_line = time.monotonic()
        assert isinstance(pl_module, TranslationModule)
        self.share_before = self._share(pl_module)  # of a resumed run
        if self.console.is_terminal and trainer.is_global_zero:
            self.bar = Progress(BarColumn(), TextColumn("{task.description}"), console=self.console)
            self.task = self.bar.add_task("", total=1.0)
            self.bar.start()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        now = time.monotonic()
        if not trainer.is_global_zero or (self.bar is None and now - self.last_line < SECONDS_BETWEEN_LINES):
            return
        self.last_line = now
        if self.bar is None:
            print(self._describe(pl_module, now), file=sys.stderr, flush=True)
        else:
            self.bar.update(self.task, completed=self._share(pl_module), description=self._describe(pl_module, now))

    def tell_validation(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        if module.global_rank == 0:
            self.console.print(describe_validation(module.n_steps, metrics), soft_wrap=True)

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _share(self, module: TranslationModule) -> float:
        """How much of the run is done, by whichever limit comes first."""
        by_steps = module.n_steps / self.total_steps if self.total_steps else 0.0
        return min(1.0, max(by_steps, module.time_spent))

    def _describe(self, module: TranslationModule, now: float) -> str:
        elapsed, share = now - self.began, self._share(module)
        left = elapsed * (1 - share) / (share - self.share_before) if share > self.share_before else 0.0
        loss = self.meter.loss
        return (
            f"epoch {self.meter.counters.data.epoch + 1}  step {module.n_steps}"
            + (f"/{self.total_steps}" if self.total_steps else "")
            + (f"  loss {loss:.3f}" if not math.isnan(loss) else "")
            + f"  {self.meter.tokens_per_s:,.0f} tok/s  {_clock(elapsed)} elapsed  {_clock(left)} left"
        )


def describe_validation(step: int, metrics: Mapping[str, float]) -> str:
    """One line with what a validation found."""
    found = [f"{title} {metrics[name]:.{digits}f}" for name, (title, digits) in _SHOWN.items() if name in metrics]
    return "  ".join([f"valid  step {step}", *found])


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
