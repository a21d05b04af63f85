"""Tell the loggers what a run is, and show them sample translations."""

import dataclasses
from typing import Any

import pytorch_lightning as pl

from seq2seq.config import RunConfig
from seq2seq.training.loggers import wandb_id
from seq2seq.training.module import TranslationModule
from seq2seq.training.validation import Validation


class Tracking(pl.Callback):
    """Logs the configuration at the start, and sample translations at each validation.

    Args:
        facts: what a tracker shows beside the configuration.
        validation: has the translations of the latest validation.
    """

    def __init__(self, config: RunConfig, facts: dict[str, Any], validation: Validation) -> None:
        self.config, self.facts, self.validation = config, facts, validation

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        for logger in trainer.loggers:
            logger.log_hyperparams({**dataclasses.asdict(self.config), **self.facts})
            if run_id := wandb_id(logger):
                assert isinstance(pl_module, TranslationModule)
                pl_module.wandb_id = run_id

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        rows = self.validation.samples(self.config.logger.n_samples)
        if not rows or not trainer.is_global_zero:
            return
        columns = ["step", "source", "reference", "translation"]
        step = trainer.global_step
        for logger in trainer.loggers:
            if wandb_id(logger):
                data = [[step, *row] for row in rows]
                logger.log_table(key="valid/samples", columns=columns, data=data)  # type: ignore[attr-defined]
            elif logger.__class__.__name__ == "TensorBoardLogger":
                text = "\n\n".join(f"**{src}**  \n{ref}  \n*{hyp}*" for src, ref, hyp in rows)
                logger.experiment.add_text("valid/samples", text, step)  # type: ignore[attr-defined]
