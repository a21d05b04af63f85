"""What is logged of optimizer steps: loss, gradient, learning rate, speed, padding and memory."""

import math
import time
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
import torch

from seq2seq.dataset.batches import Step
from seq2seq.memory import resident_memory
from seq2seq.training.callbacks.counters import Counters
from seq2seq.training.module import TranslationModule
from seq2seq.vocabulary import PAD


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
