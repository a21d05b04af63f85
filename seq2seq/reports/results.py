"""One table of many finished runs. A row is a recipe: runs on the same text that differ only in `IGNORED` keys."""

import dataclasses
import hashlib
import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError

# Keys that may differ between the runs of one row: the seed, and keys without influence on the scores.
IGNORED = (
    "seed",
    "run_dir",
    "resume",
    "name",
    "data.dir",
    "data.cache_dir",
    "data.robustness",
    "logger",
    "trainer.threads",
)


@dataclasses.dataclass(frozen=True)
class Result:
    """The settings and the scores of a finished run."""

    name: str  # of the experiment
    seed: int
    settings: Mapping[str, Any]  # dotted key: value; without `IGNORED` keys, and with the text as `corpus`
    scores: Mapping[str, float]  # "TEST METRIC" or "valid METRIC": score


def read_result(run: RunDirectory, metrics: Sequence[str]) -> Result:
    """Read a finished run.

    Args:
        metrics: names as in scores.json. On valid, runs measure only BLEU and chrF.
    Raises:
        RunError: the run is not finished, or no test set of it has one of these metrics.
    """
    selection, tests = run.selection(), run.scores()
    known = sorted({name for scores in tests.values() for name in scores})
    if tests and (missing := [metric for metric in metrics if metric not in known]):
        raise RunError(f"{run.path}: has no {missing[0]} of {', '.join(tests)}; choose from {', '.join(known)}")
    settings = dict(_flat(dataclasses.asdict(run.config())))
    seed, name, place = settings["seed"], settings["name"], settings["data.dir"]
    for key in [key for key in settings if any(f"{key}.".startswith(f"{ignored}.") for ignored in IGNORED)]:
        del settings[key]
    settings["corpus"] = _fingerprint(run.corpus()) or place  # older runs know only where their text was
    chosen = selection.valid[selection.selected]
    valid = {f"valid {metric}": chosen[metric] for metric in metrics if metric in chosen}
    tested = {
        f"{test} {metric}": scores[metric].score
        for test, scores in tests.items()
        for metric in metrics
        if metric in scores  # a test set that data.robustness adds has fewer
    }
    return Result(name, seed, settings, valid | tested)


def _fingerprint(corpus: Mapping[str, Sequence[str]]) -> str:
    """The same for the same text, wherever it is; short, because people read it. Empty if nothing is known."""
    return hashlib.sha256(json.dumps(corpus, sort_keys=True).encode()).hexdigest()[:8] if corpus else ""


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    items: list[tuple[str, Any]] = []
    for key, value in config.items():
        items += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + str(key), value)]
    return items


def table(results: Sequence[Result]) -> str:
    """A Markdown table with a row for each recipe, in the order of their first runs.

    A row names the settings in which rows differ. A second run with the same seed is not another sample of the
    recipe: it gets a row of its own.
    """
    rows: list[list[Result]] = []
    for result in results:
        row = next((row for row in rows if _is_another_seed(result, row)), None)
        if row is None:
            rows.append([result])
        else:
            row.append(result)
    settings = [row[0].settings for row in rows]
    keys = dict.fromkeys(key for each in settings for key in each)  # `data.test` may have keys of its own
    varied = [key for key in keys if any(other.get(key) != settings[0].get(key) for other in settings)]
    columns = dict.fromkeys(column for result in results for column in result.scores)
    lines = [["run", "seeds", *columns]]
    for number, row in enumerate(rows):
        first = row[0]
        differences = [f"{key}={first.settings[key]}" for key in varied if key in first.settings]
        is_repeated = any(first.settings == earlier[0].settings for earlier in rows[:number])
        seeds = ", ".join(str(result.seed) for result in row) + (" (again)" if is_repeated else "")
        lines.append([" ".join([first.name, *differences]), seeds, *(_cell(row, column) for column in columns)])
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _is_another_seed(result: Result, row: Sequence[Result]) -> bool:
    """Whether a run and those of a row are seeds of one recipe."""
    return row[0].settings == result.settings and all(other.seed != result.seed for other in row)


def _cell(row: Sequence[Result], column: str) -> str:
    scores = [result.scores[column] for result in row if column in result.scores]
    if not scores:
        return ""
    mean = f"{statistics.mean(scores):.2f}"
    return f"{mean} ± {statistics.stdev(scores):.2f}" if len(scores) > 1 else mean
