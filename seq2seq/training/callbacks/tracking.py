"""Tell the loggers what a run is, and show them sample translations."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl

from seq2seq.config import RunConfig
from seq2seq.training.guarded import Guarded
from seq2seq.training.module import TranslationModule
from seq2seq.training.validation import Validation


class Tracking(pl.Callback):
    """Logs the configuration at the start, and sample translations after each validation.

    Args:
        facts: what a tracker shows beside the configuration.
        validation: has the translations of the latest validation.
    """

    def __init__(self, config: RunConfig, facts: dict[str, Any], validation: Validation) -> None:
        self.config, self.facts, self.validation = config, facts, validation

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        for logger in trainer.loggers:
            logger.log_hyperparams({**dataclasses.asdict(self.config), **self.facts})
            if isinstance(logger, Guarded) and logger.run_id:
                assert isinstance(pl_module, TranslationModule)
                pl_module.wandb_id = logger.run_id

    def log_samples(self, trainer: pl.Trainer, metrics: Mapping[str, float]) -> None:
        rows = self.validation.samples(self.config.logger.n_samples)
        if not rows or not trainer.is_global_zero:
            return
        for logger in trainer.loggers:
            if isinstance(logger, Guarded):
                logger.log_samples(rows, trainer.global_step)
