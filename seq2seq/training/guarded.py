"""A tracker that may fail without ending the run."""

import logging
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pytorch_lightning.loggers import Logger

from seq2seq.training.attention_maps import AttentionMap
from seq2seq.training.sentence_tables import Table
from seq2seq.training.shipping import Product

log = logging.getLogger(__name__)


class Tracker(Protocol):
    """A Lightning logger that also keeps sentences, pictures and final scores. Each method may fail."""

    title: str  # what messages call it

    @property
    def run_id(self) -> str:
        """What a resumed run continues; empty if the tracker needs nothing to go on."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None: ...

    def log_hyperparams(self, params: dict[str, Any]) -> None: ...

    def log_sentences(self, name: str, table: Table, step: int) -> None: ...

    def log_attention(self, maps: Sequence[AttentionMap], step: int) -> None:
        """As pictures, which the tracker draws: what fails there must not end the run either."""

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        """The scores on the test sets, and what else belongs to the end of a run."""

    def log_product(self, product: Product) -> None:
        """The model that the run has made."""

    def save(self) -> None: ...

    def finalize(self, status: str) -> None: ...

    def close(self, has_failed: bool) -> None:
        """Write what is left. `has_failed` says how the run ended."""

    def abandon(self) -> None:
        """Let go of everything after a failure, so that the next run of this process starts anew."""


class Guarded(Logger):
    """Stands between Lightning and a tracker. The first failure costs a warning, and all that would have come later.

    Only `Exception` counts as a failure: a signal that comes while the tracker works still stops the run.
    """

    def __init__(self, tracker: Tracker) -> None:
        super().__init__()
        self._tracker: Tracker | None = tracker
        self._title = tracker.title

    @property
    def name(self) -> str:
        return self._title

    @property
    def version(self) -> str:
        return ""

    @property
    def run_id(self) -> str:
        return self._tracker.run_id if self._tracker else ""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self._attempt(lambda tracker: tracker.log_metrics(metrics, step))

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        self._attempt(lambda tracker: tracker.log_hyperparams(params if isinstance(params, dict) else vars(params)))

    def log_sentences(self, name: str, table: Table, step: int) -> None:
        self._attempt(lambda tracker: tracker.log_sentences(name, table, step))

    def log_attention(self, maps: Sequence[AttentionMap], step: int) -> None:
        self._attempt(lambda tracker: tracker.log_attention(maps, step))

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        self._attempt(lambda tracker: tracker.log_results(scores, facts, step))

    def log_product(self, product: Product) -> None:
        self._attempt(lambda tracker: tracker.log_product(product))

    def save(self) -> None:
        self._attempt(lambda tracker: tracker.save())

    def finalize(self, status: str) -> None:
        self._attempt(lambda tracker: tracker.finalize(status))

    def close(self, has_failed: bool) -> None:
        self._attempt(lambda tracker: tracker.close(has_failed))

    def _attempt(self, work: Callable[[Tracker], None]) -> None:
        if self._tracker is None:
            return
        try:
            work(self._tracker)
        except Exception as error:
            failed, self._tracker = self._tracker, None
            cause = error.__cause__ or error  # TensorBoard's logger says that of any error a value has the wrong type
            log.warning(
                "%s failed (%s: %s); it records nothing more of this run, which goes on",
                self._title,
                type(cause).__name__,
                cause,
            )
            failed.abandon()
