"""What a search has found: its trials as a table, and the command that trains the best one again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seq2seq.errors import command
from seq2seq.reports.tables import Table, as_markdown
from seq2seq.sweeps.search import ENDS, Search, job_of
from seq2seq.sweeps.space import Space, short

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


def report(search: Search) -> str:
    """The table, the reason of each failure, and how to train with the best trial."""
    trials, paragraphs = search.study.trials, []
    for trial in trials:
        if trial.state.name == "FAIL":
            error = search.sweep.error(job_of(trial.number, search.space, trial.params)[0])
            paragraphs.append(f"trial {trial.number} failed: {error}")
    if any(trial.state.name == "COMPLETE" for trial in trials):
        paragraphs.append(_best(search, search.study.best_trial))
    return "\n\n".join([table(search.space, trials), *paragraphs])


def table(space: Space, trials: "Sequence[FrozenTrial]") -> str:
    """A Markdown table with a row for each trial: the finished ones by what they reached, then the others."""
    header = ["trial", space.metric, "how it ended", "validations", "minutes", *space.space]
    rows = []
    for trial in sorted(trials, key=lambda trial: _rank(trial, space)):
        value = short(trial.value, 4) if trial.value is not None and trial.state.name == "COMPLETE" else ""
        minutes = f"{trial.duration.total_seconds() / 60:.1f}" if trial.duration else ""
        settings = [short(trial.params[key], 4) if key in trial.params else "" for key in space.space]
        n = len(trial.intermediate_values)
        rows.append([str(trial.number), value, ENDS[trial.state.name], str(n), minutes, *settings])
    return as_markdown(Table("trials", header, rows))


def _best(search: Search, trial: "FrozenTrial") -> str:
    name, words = job_of(trial.number, search.space, trial.params)
    return (
        f"best: trial {trial.number}, {search.space.metric} {trial.value:.4g}, {search.sweep.path / name}\n"
        f"{command('train', *search.words, *words)}"
    )


def _rank(trial: "FrozenTrial", space: Space) -> tuple[int, float]:
    value = trial.value if trial.state.name == "COMPLETE" and trial.value is not None else 0.0
    return list(ENDS).index(trial.state.name), value if space.minimizes else -value
