"""What a search has found: its trials as a table, and the best one as a command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.errors import command
from seq2seq.sweeps.search import ENDS, Search, job_of
from seq2seq.sweeps.space import Space

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


def table(space: Space, trials: "Sequence[FrozenTrial]") -> str:
    """A Markdown table with a row for each trial: the finished ones by what they reached, then the others."""
    header = ["trial", space.metric, "how it ended", "validations", "minutes", *space.space]
    rows = [header, ["---"] * len(header)]
    for trial in sorted(trials, key=lambda trial: _rank(trial, space)):
        value = f"{trial.value:.4g}" if trial.value is not None and trial.state.name == "COMPLETE" else ""
        minutes = f"{trial.duration.total_seconds() / 60:.1f}" if trial.duration else ""
        settings = [_cell(trial.params[key]) for key in space.space]
        n = len(trial.intermediate_values)
        rows.append([str(trial.number), value, ENDS[trial.state.name], str(n), minutes, *settings])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def best(sweep: SweepDirectory, space: Space, words: Sequence[str], trials: "Sequence[FrozenTrial]") -> str:
    """The best trial as a command; empty if none has finished."""
    finished = [trial for trial in trials if trial.state.name == "COMPLETE"]
    if not finished:
        return ""
    first = min(finished, key=lambda trial: _rank(trial, space))
    job = job_of(first.number, space, words, first.params)
    return (
        f"best: trial {first.number}, {space.metric} {first.value:.4g}, {sweep.path / job.name}\n"
        f"{command('train', *job.words)}"
    )


def report(search: Search) -> str:
    """Both, and the reason of each failure."""
    trials = search.study.trials
    lines = [table(search.space, trials)]
    for trial in trials:
        if trial.state.name == "FAIL":
            name = job_of(trial.number, search.space, search.words, trial.params).name
            lines.append(f"trial {trial.number} failed: {search.sweep.error(name)}")
    return "\n\n".join(filter(None, ["\n".join(lines), best(search.sweep, search.space, search.words, trials)]))


def _rank(trial: "FrozenTrial", space: Space) -> tuple[int, float, int]:
    if trial.state.name != "COMPLETE" or trial.value is None:
        return list(ENDS).index(trial.state.name), 0.0, trial.number
    return 0, trial.value if space.minimizes else -trial.value, trial.number


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
