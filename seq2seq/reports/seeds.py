"""Recipes: runs that differ only in their seed stand together, and are samples of one thing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq.config import RunConfig
from seq2seq.config.on_resume import RUNTIME, mark_of
from seq2seq.errors import RunError
from seq2seq.reports.compared_run import ComparedRun


@dataclass(frozen=True)
class Recipe:
    """Runs that differ only in their seed; of a comparison by a key, all runs with one value of it.

    Attributes:
        setting: the key and its value in a comparison by a key.
    """

    runs: Sequence[ComparedRun]
    setting: str = ""

    @property
    def label(self) -> str:
        return ", ".join(run.label for run in self.runs)

    @property
    def seeds(self) -> list[Any]:
        return [run.settings.get("seed") for run in self.runs]

    def __str__(self) -> str:
        seeds = ", ".join(map(str, self.seeds))
        return f"{self.label}: {self.setting or 'one recipe'}, seed{'s' * (len(self.runs) > 1)} {seeds}"


def recipes(runs: Sequence[ComparedRun], by: str = "") -> list[Recipe]:
    """The runs by recipe, in the order of their first runs. A run that is not finished stands alone.

    So does a second run with the same seed: it is not another sample of the recipe.

    Args:
        by: a key; runs with the same value of it stand together, whatever else differs between them.
    Raises:
        RunError: no run has the key.
    """
    if by and not any(by in run.settings for run in runs):
        raise RunError(f"no run has a key {by} that could decide a score; name one as in config.yaml, such as optim.lr")
    found: list[list[ComparedRun]] = []
    for run in runs:
        group = next((group for group in found if _belongs(run, group, by)), None)
        if group is None:
            found.append([run])
        else:
            group.append(run)
    return [Recipe(group, f"{by}={group[0].settings.get(by)}" if by else "") for group in found]


def _belongs(run: ComparedRun, group: Sequence[ComparedRun], by: str) -> bool:
    first = group[0]
    if not (run.is_finished and first.is_finished):
        return False
    if by:
        return run.settings.get(by) == first.settings.get(by)
    is_new = all(other.settings.get("seed") != run.settings.get("seed") for other in group)
    return _recipe(first) == _recipe(run) and is_new


def _recipe(run: ComparedRun) -> dict[str, Any]:
    """What decides the scores, but for the seed."""
    return {
        key: value
        for key, value in run.settings.items()
        if key != "seed" and mark_of(RunConfig, key).on_resume != RUNTIME
    }
