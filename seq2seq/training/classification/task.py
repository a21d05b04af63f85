"""What a run does that learns to classify; see `Task`."""

import logging
from collections.abc import Sequence
from typing import Any

from pytorch_lightning.loggers import Logger

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig
from seq2seq.dataset.labels import Labels
from seq2seq.dataset.prepare import Prepared
from seq2seq.reports.confusion_picture import write_confusion
from seq2seq.training.callbacks.counters import Counters
from seq2seq.training.callbacks.divergence import Divergence
from seq2seq.training.callbacks.milestones import Listener
from seq2seq.training.classification.module import ClassificationModule, balanced
from seq2seq.training.classification.summary import summary
from seq2seq.training.classification.tracking import LabelTracking, log_tests
from seq2seq.training.classification.validation import LabelValidation
from seq2seq.training.lineage import Product
from seq2seq.training.selection import Outcome
from seq2seq.training.shipping import shipped

log = logging.getLogger(__name__)


class Classification:
    """Texts with labels; an encoder with a linear layer; accuracy and F1."""

    def new_module(
        self, config: RunConfig, prepared: Prepared, total_steps: int, start: TrainedModel | None
    ) -> ClassificationModule:
        labels, weights = prepared.labels, None
        if config.classify.class_weights == "balanced":
            numbers = Labels.of_store(prepared.train).tolist()
            weights = balanced([numbers.count(number) for number in range(len(labels))])
        module = ClassificationModule(config, prepared.tokenizer, labels, total_steps, prepared.seen, weights)
        if start:
            log.info("the encoder starts from the weights of %s", start.path)
            module.model.take_encoder(start.build_encoder())
        if config.trainer.compile:
            module.model.encoder.compile(dynamic=True)
        return module

    def new_validation(self, config: RunConfig, prepared: Prepared, bf16: bool) -> LabelValidation:
        return LabelValidation(prepared.valid, prepared.labels, config, bf16)

    def new_tracking(
        self, config: RunConfig, facts: dict[str, Any], validation: LabelValidation, counters: Counters
    ) -> LabelTracking:
        return LabelTracking(config, facts | {"labels": list(validation.labels)}, validation, counters)

    def alarms(self, divergence: Divergence) -> list[Listener]:
        return []

    def summary(self, config: RunConfig, outcome: Outcome, run: RunDirectory, report: str) -> str:
        return summary(config, outcome, run, report)

    def show_tests(
        self, loggers: Sequence[Logger], config: RunConfig, run: RunDirectory, prepared: Prepared, step: int
    ) -> None:
        log_tests(loggers, run, prepared.labels, step, config.logger.shows_text)

    def ship(self, config: RunConfig, run: RunDirectory, module: ClassificationModule) -> Product | None:
        return shipped(config, run, module.model)

    def look_back(
        self, config: RunConfig, run: RunDirectory, prepared: Prepared, module: ClassificationModule, bf16: bool
    ) -> None:
        """Draw the confusion matrix of each test set. It costs a warning if that fails."""
        try:
            for test in run.tests():
                write_confusion(run, test, prepared.labels)
        except Exception as error:
            log.warning("a confusion matrix was not drawn (%s)", error)
