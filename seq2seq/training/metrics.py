"""What is measured while a run trains, and what a person sees of it.

How far it is, its loss and its speed.
"""

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytorch_lightning as pl
import torch

from seq2seq.dataset.batches import Step
from seq2seq.exit_status import note, note_in_place
from seq2seq.memory import resident_memory
from seq2seq.training.data import TranslationData
from seq2seq.training.module import TranslationModule
from seq2seq.vocabulary import PAD

TOKENS, HOURS = "progress/tgt_tokens", "progress/hours"
SECONDS_BETWEEN_LINES = 30  # where there is no terminal
SECONDS_BETWEEN_UPDATES = 0.5  # of the line on one


class Counters(pl.Callback):
    """Counts on when a run is resumed, logs every n-th step, and gives each row its place on every x-axis.

    Hours are those of training: steps, validations and saves, but not preparation, the tests at the end, and the time
    between the parts of a run. The speed is that of steps alone. Sums stay on the device between two logs, so that no
    step waits for a GPU. It logs before the state is saved: Lightning would do it after that, and a run that dies in
    between would lose a row.
    """

    def __init__(self, data: TranslationData) -> None:
        self.data = data
        self.n_tgt_tokens: Any = 0  # of all ranks
        self.began: float | None = None
        self.seconds_before = 0.0  # of the earlier parts of a resumed run
        self.spent = dict.fromkeys(("loading", "validation", "saving", "tracking"), 0.0)  # seconds
        self.tokens_per_s, self.loss = 0.0, math.nan  # as logged last
        self.step_began = 0.0
        self._forget_steps()

    def _forget_steps(self) -> None:
        """What follows is of the steps since the last log."""
        self.n_tgt_before = self.n_tgt_tokens
        self.n_tokens: Any = 0  # of both sides, on this rank
        self.n_slots, self.seconds_of_steps = 0, 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = self.step_began = time.perf_counter()  # a run resumed within an epoch does not start this epoch
        self._tell_time(trainer, pl_module)

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.step_began = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Step, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        self.n_tgt_tokens = self.n_tgt_tokens + pl_module.n_step_tokens
        self._tell_time(trainer, pl_module)
        for each in batch.micro_batches:
            self.n_tokens = self.n_tokens + each.n_tgt_tokens + (each.src != PAD).sum()
            self.n_slots += each.src.numel() + each.tgt_out.numel()
        now = time.perf_counter()
        self.seconds_of_steps, self.step_began = self.seconds_of_steps + now - self.step_began, now
        if pl_module.n_steps % pl_module.config.trainer.log_every_n_steps == 0:
            self._log_step(pl_module)

    def _log_step(self, module: TranslationModule) -> None:
        self.tokens_per_s = float(self.n_tgt_tokens - self.n_tgt_before) / self.seconds_of_steps
        metrics = {name: float(value) for name, value in module.of_step.items()} | {
            "train/tgt_tokens_per_s": self.tokens_per_s,
            "train/padding_share": 1 - float(self.n_tokens) / self.n_slots,
            "epoch": self.data.epoch,
        }
        self.loss = metrics["train/loss"]
        metrics["train/perplexity"] = math.exp(min(self.loss, 100.0))
        if (resident := resident_memory()) is not None:
            metrics["train/process_memory_gb"] = resident / 1e9
        if module.device.type == "cuda":
            metrics["train/device_memory_gb"] = torch.cuda.max_memory_allocated() / 1e9
        self.log_row(module, metrics)
        self._forget_steps()

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
        """Give all loggers the metrics after the latest step: a row's step is the number of steps done."""
        with self.timed("tracking"):
            row = {**metrics, TOKENS: int(self.n_tgt_tokens), HOURS: self.seconds / 3600}
            for logger in module.loggers:
                logger.log_metrics(row, module.n_steps)

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
        self._forget_steps()


class ProgressReport(pl.Callback):
    """Loss, speed and time left, in a line that changes on a terminal; one more line for each validation.

    Args:
        total_steps: optimizer steps of the run; 0 if only time limits it.
    """

    def __init__(self, counters: Counters, total_steps: int) -> None:
        self.counters, self.total_steps = counters, total_steps
        self.began, self.share_before, self.last_line = 0.0, 0.0, 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = self.last_line = time.monotonic()
        assert isinstance(pl_module, TranslationModule)
        self.share_before = self._share(pl_module)  # of a resumed run

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        now, on_terminal = time.monotonic(), sys.stderr.isatty()
        pause = SECONDS_BETWEEN_UPDATES if on_terminal else SECONDS_BETWEEN_LINES
        if not trainer.is_global_zero or now - self.last_line < pause:
            return
        self.last_line = now
        line = self._describe(pl_module, now)
        if on_terminal:
            note_in_place(line)
        else:
            note(line)

    def tell_validation(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        if module.global_rank == 0:
            found = "  ".join(f"{name} {value:.3f}" for name, value in metrics.items())
            note(f"valid  step {module.n_steps}  {found}")

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        note("", end="")  # in place of the line

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        note("", end="")

    def _share(self, module: TranslationModule) -> float:
        """How much of the run is done, by whichever limit comes first."""
        by_steps = module.n_steps / self.total_steps if self.total_steps else 0.0
        return min(1.0, max(by_steps, module.time_spent))

    def _describe(self, module: TranslationModule, now: float) -> str:
        elapsed, share = now - self.began, self._share(module)
        left = elapsed * (1 - share) / (share - self.share_before) if share > self.share_before else 0.0
        loss = self.counters.loss
        return (
            f"epoch {self.counters.data.epoch + 1}  step {module.n_steps}"
            + (f"/{self.total_steps}" if self.total_steps else "")
            + (f"  loss {loss:.3f}" if not math.isnan(loss) else "")
            + f"  {self.counters.tokens_per_s:,.0f} tok/s  {timedelta(seconds=round(elapsed))} elapsed  "
            + f"{timedelta(seconds=round(min(left, 1e13)))} left"  # of more, a `timedelta` overflows
        )
