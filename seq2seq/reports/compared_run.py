"""What a comparison takes from a run directory: settings, scores and cost, also of a run that is not finished."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.config.on_resume import RUNTIME, mark_of
from seq2seq.evaluation.scores import VALID_METRICS
from seq2seq.reports.cost import Cost, cost

# Neither scores nor what they cost are better understood by these.
_OF_PROCESSES = ("trainer.threads", "trainer.progress", "data.n_workers", "batch.n_workers")


@dataclass(frozen=True)
class Measured:
    """A score of a run, or the mean of several seeds, and its difference from that of the first recipe.

    Attributes:
        mean, half_width: of its interval; None if the run kept none.
        signature: empty if the run kept none.
        deviation: the standard deviation over seeds; None for a single run.
        difference: from the first recipe; None if that one has no such score, and for a seed among others.
        difference_half_width: of its interval; None without a bootstrap.
        p_value: that chance alone makes a difference as large; None without a test, and for equal scores.
        p_holm: the same, corrected for the number of recipes that were compared with the first one (Holm 1979).
        is_tested: whether both were compared by a test.
    """

    score: float
    mean: float | None = None
    half_width: float | None = None
    signature: str = ""
    deviation: float | None = None
    difference: float | None = None
    difference_half_width: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    is_tested: bool = False


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs of a comparison.

    Attributes:
        label: A, B, ...
        is_finished: whether it came to its end.
        settings: value of each key but those of places and processes, first what decides scores; `corpus` is the text.
        valid: by metric, of the weights that were chosen; of an unfinished run, what the latest validation found.
        tests: by test set and metric, as the run kept them.
        translated: the test sets whose translations are there; none of an unfinished run.
    """

    label: str
    run: RunDirectory
    is_finished: bool
    settings: Mapping[str, Any]
    valid: Mapping[str, Measured]
    tests: Mapping[str, Mapping[str, Measured]]
    translated: Sequence[str]
    cost: Cost

    @property
    def metrics(self) -> set[str]:
        """All that it was measured in."""
        return {metric for scores in (self.valid, *self.tests.values()) for metric in scores}

    @property
    def name(self) -> str:
        """The label, marked if the run is not finished."""
        return self.label if self.is_finished else f"{self.label}*"


def read_run(run: RunDirectory, label: str) -> ComparedRun:
    """Read a run, finished or not.

    Raises:
        RunError: there is no run, or a file of it is damaged.
    """
    settings, corpus = run.settings(), run.corpus()
    place = settings.get("data.dir", "")
    settings["corpus"] = _fingerprint(corpus) or place  # older runs know only where their text was
    shown = [key for key in settings if key not in _OF_PROCESSES and not mark_of(RunConfig, key).is_place]
    shown.sort(key=lambda key: mark_of(RunConfig, key).on_resume == RUNTIME)
    if run.is_scored:
        selection = run.selection()
        chosen = selection.valid[selection.selected]
        valid = {name: Measured(chosen[name]) for name in VALID_METRICS if name in chosen}
        valid |= {name: Measured(**vars(score)) for name, score in selection.intervals.items()}
    else:
        latest = {metric.name: metric.value for metric in run.metrics()}
        valid = {name: Measured(latest[f"valid/{name}"]) for name in VALID_METRICS if f"valid/{name}" in latest}
    scores = run.scores() if run.has_scores else {}
    tests = {test: {name: Measured(**vars(score)) for name, score in found.items()} for test, found in scores.items()}
    there = run.tests() if run.is_scored else []  # else they are of an earlier end, and of other weights
    translated = [name for name in dict.fromkeys([*scores, *there]) if name in there]  # in the order of the run
    return ComparedRun(
        label, run, run.is_scored, {key: settings[key] for key in shown}, valid, tests, translated, cost(run)
    )


def _fingerprint(corpus: Mapping[str, Sequence[str]]) -> str:
    """The same for the same text, wherever it is; short, because people read it. Empty if nothing is known."""
    return hashlib.sha256(json.dumps(corpus, sort_keys=True).encode()).hexdigest()[:8] if corpus else ""
