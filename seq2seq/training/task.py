"""What a run learns: to translate, or to classify. Here is all that differs between the two, and where it is."""

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from pytorch_lightning.loggers import Logger

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig
from seq2seq.dataset.prepare import Prepared
from seq2seq.training.analysing import keep_analyses
from seq2seq.training.callbacks.counters import Counters
from seq2seq.training.callbacks.divergence import Divergence
from seq2seq.training.callbacks.milestones import Listener
from seq2seq.training.callbacks.tracking import Introducing, Tracking
from seq2seq.training.classification.task import Classification
from seq2seq.training.lineage import Product
from seq2seq.training.loggers import log_extremes
from seq2seq.training.measuring import Measuring
from seq2seq.training.module import TrainingModule, TranslationModule
from seq2seq.training.selection import Outcome, summary
from seq2seq.training.shipping import shipped
from seq2seq.training.validation import Validation

log = logging.getLogger(__name__)


class Task(Protocol):
    """The parts of a run that depend on what is learned."""

    def new_module(
        self, config: RunConfig, prepared: Prepared, total_steps: int, start: TrainedModel | None
    ) -> TrainingModule:
        """The model with its optimizer; with the weights of `start`, if there is one."""

    def new_validation(self, config: RunConfig, prepared: Prepared, bf16: bool) -> Measuring:
        """What measures the weights."""

    def new_tracking(
        self, config: RunConfig, facts: dict[str, Any], validation: Any, counters: Counters
    ) -> Introducing:
        """What trackers are shown. `validation` is of `new_validation`."""

    def alarms(self, divergence: Divergence) -> list[Listener]:
        """What a validation may point out."""

    def summary(self, config: RunConfig, outcome: Outcome, run: RunDirectory, report: str) -> str:
        """One screen that says what the run was, what won, what it scored and what to do next."""

    def show_tests(
        self, loggers: Sequence[Logger], config: RunConfig, run: RunDirectory, prepared: Prepared, step: int
    ) -> None:
        """Show trackers what the model made of the test sets."""

    def ship(self, config: RunConfig, run: RunDirectory, module: Any) -> Product | None:
        """The model directory for a tracker that keeps models; None if it cannot be made."""

    def look_back(self, config: RunConfig, run: RunDirectory, prepared: Prepared, module: Any, bf16: bool) -> None:
        """What else a finished run finds out; it may fail."""


class Translation:
    """Sentence pairs; a Transformer; BLEU and chrF of real decoding."""

    def new_module(
        self, config: RunConfig, prepared: Prepared, total_steps: int, start: TrainedModel | None
    ) -> TranslationModule:
        module = TranslationModule(config, prepared.tokenizer, total_steps, prepared.seen)
        if start:
            log.info("starting from the weights of %s", start.path)
            module.model.load_state_dict(start.build().state_dict())
        if config.trainer.compile:
            # Not the model as a whole: training calls its halves, and the loss works on hidden states.
            module.model.encoder.compile(dynamic=True)
            module.model.decoder.compile(dynamic=True)
        return module

    def new_validation(self, config: RunConfig, prepared: Prepared, bf16: bool) -> Validation:
        return Validation(prepared.valid, prepared.tokenizer, config, bf16=bf16)

    def new_tracking(
        self, config: RunConfig, facts: dict[str, Any], validation: Validation, counters: Counters
    ) -> Tracking:
        return Tracking(config, facts, validation, counters)

    def alarms(self, divergence: Divergence) -> list[Listener]:
        return [divergence.point_out]

    def summary(self, config: RunConfig, outcome: Outcome, run: RunDirectory, report: str) -> str:
        return summary(config, outcome, run.path, report)

    def show_tests(
        self, loggers: Sequence[Logger], config: RunConfig, run: RunDirectory, prepared: Prepared, step: int
    ) -> None:
        if config.logger.shows_text:
            log_extremes(loggers, run, {name: prepared.tests[name] for name in config.data.tests}, step)

    def ship(self, config: RunConfig, run: RunDirectory, module: TranslationModule) -> Product | None:
        return shipped(config, run, module.model)

    def look_back(
        self, config: RunConfig, run: RunDirectory, prepared: Prepared, module: TranslationModule, bf16: bool
    ) -> None:
        keep_analyses(module.model, prepared, config, run, bf16)


def task_of(config: RunConfig) -> Task:
    return Classification() if config.classify.is_on else Translation()
