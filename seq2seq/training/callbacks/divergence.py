"""A run whose training goes wrong says so."""

import logging
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl

from seq2seq.errors import RunError
from seq2seq.training.module import TranslationModule

MOST_SKIPPED = 20  # steps in a row
_POOR_BLEU, _GOOD_LOSS = 0.5, 3.5  # a model with such a loss (nats per token) usually has a BLEU above 5

log = logging.getLogger(__name__)


class Divergence(pl.Callback):
    """Ends a run whose gradients are no longer finite, and points out a BLEU that does not fit the loss.

    Such a step is skipped (`TranslationModule.configure_gradient_clipping`). The weights stay as they were, so what is
    saved is good.
    """

    def __init__(self) -> None:
        self.has_pointed_out = False

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        if pl_module.n_skipped_in_a_row >= MOST_SKIPPED:
            raise RunError(
                f"training has diverged: the gradients of the last {MOST_SKIPPED} steps, up to step "
                f"{trainer.global_step:,}, were not finite; start again with a lower optim.lr (it was "
                f"{pl_module.config.optim.lr:g}), more optim.warmup_steps or trainer.precision=32-true"
            )

    def point_out(self, trainer: pl.Trainer, metrics: Mapping[str, float]) -> None:
        """Say once that the decoded text is bad although the loss is good."""
        if self.has_pointed_out or metrics["bleu"] >= _POOR_BLEU or metrics["loss"] >= _GOOD_LOSS:
            return
        self.has_pointed_out = True
        log.warning(
            "BLEU of valid is %.2f although its loss is %.2f: what is decoded does not look like the references; "
            "compare a few translations, and check data.valid and the settings of decoding",
            metrics["bleu"],
            metrics["loss"],
        )
