"""Show trackers what a classifier makes of sample sentences, and which labels it takes for which."""

from collections.abc import Mapping, Sequence
from typing import Any

from pytorch_lightning.loggers import Logger

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.evaluation.labels import confusion
from seq2seq.training.callbacks.counters import Counters
from seq2seq.training.callbacks.tracking import Introducing
from seq2seq.training.classification.validation import LabelSample, LabelValidation
from seq2seq.training.guarded import Guarded
from seq2seq.training.module import TrainingModule
from seq2seq.training.sentence_tables import Table

N_MISTAKES = 30  # of a test set


class LabelTracking(Introducing):
    """Also shows, after each validation, some sentences with their labels."""

    def __init__(
        self, config: RunConfig, facts: dict[str, Any], validation: LabelValidation, counters: Counters
    ) -> None:
        super().__init__(config, facts, counters)
        self.validation = validation

    def show_validation(self, module: TrainingModule, metrics: Mapping[str, float]) -> None:
        trackers = _trackers(module.loggers)
        if not trackers or module.global_rank or not self.config.logger.shows_text:
            return
        with self.counters.timed("tracking"):
            table = table_of_labels(self.validation.samples(self.config.logger.n_samples), module.n_steps)
            for tracker in trackers:
                tracker.log_sentences("valid/samples", table, module.n_steps - 1)


def log_tests(loggers: Sequence[Logger], run: RunDirectory, labels: Sequence[str], step: int, shows_text: bool) -> None:
    """Show trackers the confusion matrix of each test set, and some of its mistakes."""
    trackers = _trackers(loggers)
    for test in run.tests() if trackers else ():
        references, predictions = [first for first, *_ in run.references(test)], run.hypotheses(test)
        tables = {"confusion": table_of_confusion(references, predictions, labels)}
        if shows_text:
            tables["mistakes"] = table_of_mistakes(run.sources(test) or [], references, predictions)
        for tracker in trackers:
            for name, table in tables.items():
                tracker.log_sentences(f"test/{test}/{name}", table, step - 1)


def table_of_confusion(references: Sequence[str], predictions: Sequence[str], labels: Sequence[str]) -> Table:
    """A row for each true label, with a column for each label that it was taken for."""
    counts = confusion(references, predictions, labels).tolist()
    return Table(["label", *labels], [[label, *row] for label, row in zip(labels, counts, strict=True)])


def table_of_mistakes(texts: Sequence[str], references: Sequence[str], predictions: Sequence[str]) -> Table:
    rows: list[list[str | float | None]] = []
    for line, (text, label, guess) in enumerate(zip(texts, references, predictions, strict=True), start=1):
        if label != guess and len(rows) < N_MISTAKES:
            rows.append([line, text, label, guess])
    return Table(["line", "text", "label", "prediction"], rows)


def table_of_labels(samples: Sequence[LabelSample], step: int) -> Table:
    rows: list[list[str | float | None]] = [
        [step, each.line, each.text, each.label, each.prediction, round(each.probability, 4)] for each in samples
    ]
    return Table(["step", "line", "text", "label", "prediction", "probability"], rows)


def _trackers(loggers: Sequence[Any]) -> list[Guarded]:
    return [logger for logger in loggers if isinstance(logger, Guarded)]
