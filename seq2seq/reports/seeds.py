"""Runs that differ only in their seed, together: the mean and the standard deviation of their scores."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq.config import RunConfig
from seq2seq.config.on_resume import RUNTIME, mark_of
from seq2seq.reports.compared_run import ComparedRun


@dataclass(frozen=True)
class Spread:
    """What several runs scored.

    Attributes:
        deviation: the standard deviation of a sample; None for a single run.
    """

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class Recipe:
    """Runs that differ only in their seed.

    Attributes:
        scores: by `valid/METRIC` or `test/TEST/METRIC`, as far as all of the runs have it.
    """

    labels: Sequence[str]
    seeds: Sequence[Any]
    scores: Mapping[str, Spread]


def recipes(runs: Sequence[ComparedRun], scores: Mapping[str, Mapping[str, float]]) -> list[Recipe]:
    """The finished runs by recipe, in the order of their first runs.

    A second run with the same seed is not another sample of the recipe: it is a recipe of its own.

    Args:
        scores: by `valid/METRIC` or `test/TEST/METRIC`, then by the label of a run.
    """
    found: list[list[ComparedRun]] = []
    for run in runs:
        if not run.is_finished:
            continue
        group = next((group for group in found if _is_another_seed(run, group)), None)
        if group is None:
            found.append([run])
        else:
            group.append(run)
    return [
        Recipe(
            [run.label for run in group],
            [run.settings.get("seed") for run in group],
            dict(_spreads([run.label for run in group], scores)),
        )
        for group in found
    ]


def _spreads(labels: Sequence[str], scores: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, Spread]]:
    for name, by_label in scores.items():
        if all(label in by_label for label in labels):
            values = [by_label[label] for label in labels]
            yield name, Spread(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None)


def _is_another_seed(run: ComparedRun, group: Sequence[ComparedRun]) -> bool:
    """Whether a run and those of a group are seeds of one recipe."""
    return _recipe(group[0]) == _recipe(run) and all(
        other.settings.get("seed") != run.settings.get("seed") for other in group
    )


def _recipe(run: ComparedRun) -> dict[str, Any]:
    """What decides the scores, but for the seed."""
    return {
        key: value
        for key, value in run.settings.items()
        if key != "seed" and mark_of(RunConfig, key).on_resume != RUNTIME
    }
