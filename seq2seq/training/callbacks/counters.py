"""How far a run is, in target tokens and hours, and what its time went into."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl

from seq2seq.training.data import TranslationData
from seq2seq.training.module import TranslationModule

TOKENS, HOURS = "progress/tgt_tokens", "progress/hours"


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
