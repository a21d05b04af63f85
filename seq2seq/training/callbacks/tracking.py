"""Tell the trackers what a run is, and show them what it writes and where it looks."""

from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl

from seq2seq.config import RunConfig, kept
from seq2seq.training.callbacks.counters import Counters
from seq2seq.training.guarded import Guarded
from seq2seq.training.module import TranslationModule
from seq2seq.training.sentence_tables import table_of_samples
from seq2seq.training.validation import Validation


class Tracking(pl.Callback):
    """Logs the configuration at the start and, after each validation, sample translations and pictures of attention.

    Args:
        facts: what a tracker shows beside the configuration.
        validation: has the translations of the latest validation.
    """

    def __init__(self, config: RunConfig, facts: dict[str, Any], validation: Validation, counters: Counters) -> None:
        self.config, self.facts, self.validation, self.counters = config, facts, validation, counters
        self.has_told_signatures = False
        self.chrf: dict[int, float] = {}  # of each sample, at the latest validation

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        for logger in trainer.loggers:
            logger.log_hyperparams({**kept(self.config), **self.facts})
            if isinstance(logger, Guarded) and logger.run_id:
                assert isinstance(pl_module, TranslationModule)
                pl_module.wandb_id = logger.run_id

    def show_validation(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        trackers = [logger for logger in module.loggers if isinstance(logger, Guarded)]
        if not trackers or module.global_rank:
            return
        with self.counters.timed("tracking"):
            if not self.has_told_signatures:
                self.has_told_signatures = True
                for tracker in trackers:
                    tracker.log_hyperparams({"valid_signatures": self.validation.signatures})
            if not self.config.logger.shows_text:
                return
            step = module.n_steps
            samples = self.validation.samples(self.config.logger.n_samples)
            table = table_of_samples(samples, self.chrf, step)
            self.chrf = {sample.pair: sample.chrf for sample in samples}
            for tracker in trackers:
                tracker.log_sentences("valid/samples", table, step - 1)
                if maps := self.validation.attention:
                    tracker.log_attention(maps, step - 1)

    def state_dict(self) -> dict[str, Any]:
        return {"chrf": self.chrf}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.chrf = {int(pair): float(score) for pair, score in state_dict["chrf"].items()}
