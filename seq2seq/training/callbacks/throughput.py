"""How fast a run trains, and how much of a batch is padding."""

import time
from typing import Any

import pytorch_lightning as pl
import torch

from seq2seq.dataset.batches import Batch
from seq2seq.training.position import step_is_complete
from seq2seq.vocabulary import PAD


class ThroughputMeter(pl.Callback):
    """Target tokens a second and padding share of training, logged with the other metrics.

    Time in validation does not count. Sums stay on the device between two logs, so that nothing waits for a GPU.
    """

    def __init__(self) -> None:
        self.n_tokens: Any = 0
        self.n_tgt: Any = 0
        self.n_slots = 0
        self.seconds = 0.0
        self.began = 0.0
        self.tokens_per_s = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = time.perf_counter()  # a run resumed within an epoch does not start this epoch

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        n_tgt = (batch.tgt_out != PAD).sum()
        self.n_tgt = self.n_tgt + n_tgt
        self.n_tokens = self.n_tokens + n_tgt + (batch.src != PAD).sum()
        self.n_slots += batch.src.numel() + batch.tgt_out.numel()
        now = time.perf_counter()
        self.seconds, self.began = self.seconds + now - self.began, now
        if step_is_complete(trainer) and trainer.global_step % trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]
            self.tokens_per_s = float(self.n_tgt) / self.seconds
            metrics = {
                "train/tgt_tokens_per_s": self.tokens_per_s,
                "train/padding_share": 1 - float(self.n_tokens) / self.n_slots,
            }
            if torch.cuda.is_available():
                metrics["train/device_memory_gb"] = torch.cuda.max_memory_allocated() / 1e9
            pl_module.log_dict(metrics)
            self.n_tokens, self.n_tgt, self.n_slots, self.seconds = 0, 0, 0, 0.0

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.seconds += time.perf_counter() - self.began if self.began else 0.0

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.began = time.perf_counter()
