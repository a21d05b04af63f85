"""Keep the heap of a CPU run compact."""

from typing import Any

import pytorch_lightning as pl

from seq2seq.dataset.batches import Step
from seq2seq.hardware import give_back_holes

BATCHES_BETWEEN_TRIMS = 50


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
