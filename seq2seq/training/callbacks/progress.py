"""What a person sees while a run trains: a bar in a terminal, a line now and then in a log file."""

import math
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from seq2seq.training.callbacks.step_metrics import StepMetrics
from seq2seq.training.module import TranslationModule

_SHOWN = {  # of a validation: title and digits
    "loss": ("loss", 3),
    "perplexity": ("perplexity", 2),
    "accuracy": ("accuracy", 3),
    "bleu": ("BLEU", 2),
    "chrf": ("chrF", 2),
}
SECONDS_BETWEEN_LINES = 30  # where there is no terminal


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
