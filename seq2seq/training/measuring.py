"""What a run asks of whatever measures its weights: by translating, or by classifying."""

from collections.abc import Mapping
from typing import Any, Protocol

from seq2seq.config import RunConfig
from seq2seq.corpus.test_sets import TestSet
from seq2seq.dataset.store import PairStore
from seq2seq.evaluation.scores import Interval


class Measuring(Protocol):
    """Measures weights on valid, now and then and at the end, and on the test sets at the end.

    Attributes:
        hypotheses: what the model made of valid in the latest validation, one for each sentence that it had.
        of_domains: the latest metrics of each domain; empty if valid has only one.
    """

    config: RunConfig
    hypotheses: list[str]
    of_domains: dict[str, dict[str, float]]

    def while_training(self, model: Any) -> dict[str, float]:
        """Every metric, by its name without `valid/`."""

    def of_all(self, model: Any) -> dict[str, float]:
        """Every metric, of all sentences."""

    def describe(self, metrics: Mapping[str, float]) -> str:
        """The metrics that a run is judged by, in a few words."""

    def outputs(self, model: Any, store: PairStore) -> list[str]:
        """What the model makes of each sentence of a corpus, on every rank."""

    def scores_of_valid(self, hypotheses: list[str]) -> dict[str, Interval]:
        """The scores of what a model made of all of valid."""

    def scores_of_test(self, hypotheses: list[str], store: PairStore, test: TestSet) -> dict[str, Interval]:
        """The scores of what a model made of a test set."""
