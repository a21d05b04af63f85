"""One Markdown table of many runs, seeds together as mean and standard deviation:  python -m seq2seq results RUN_DIR...

Runs whose configurations differ in nothing that decides the outcome but the seed are one row. Reads
`config.yaml`, `selection.json` and `scores.json` of finished runs.
"""

import argparse
import dataclasses
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.config import read_config
from seq2seq.errors import TranslationError, UserError
from seq2seq.evaluation.scores import TEST_METRICS

# What may differ between runs of one row.
IGNORED = ("seed", "run_dir", "resume", "name", "data.dir", "data.cache_dir", "logger", "trainer.threads")


@dataclasses.dataclass(frozen=True)
class Result:
    """What a finished run was made of and what it reached."""

    name: str  # of the experiment
    seed: int
    settings: Mapping[str, Any]  # dotted key: value, but for those that may differ
    scores: Mapping[str, float]  # test set, or `valid`, and metric: score


def read_result(run_dir: Path, metrics: Sequence[str]) -> Result:
    """
    Args:
        metrics: as they are called in scores.json. On valid only BLEU and chrF are measured.
    Raises:
        TranslationError: not the directory of a finished run, or one without one of these metrics.
    """
    try:
        config: Any = OmegaConf.to_container(OmegaConf.load(run_dir / "config.yaml"))
        selection = json.loads((run_dir / "selection.json").read_text())
        tests = json.loads((run_dir / "scores.json").read_text())
    except (OSError, ValueError) as error:
        raise TranslationError(
            f"{run_dir}: is not the directory of a finished run, which has config.yaml, selection.json and scores.json"
        ) from error
    if missing := [(test, metric) for test, scores in tests.items() for metric in metrics if metric not in scores]:
        (test, metric), known = missing[0], sorted({each for scores in tests.values() for each in scores})
        raise TranslationError(f"{run_dir}: has no {metric} of {test}; choose from {', '.join(known)}")
    # Keys that came after a run have their defaults, which leave things as they were.
    settings = dict(_flat(dataclasses.asdict(read_config(config))))
    seed, name = settings["seed"], settings["name"]
    for key in [key for key in settings if any(f"{key}.".startswith(f"{ignored}.") for ignored in IGNORED)]:
        del settings[key]
    chosen = selection["valid"][selection["selected"]]
    valid = {f"valid {metric}": chosen[metric] for metric in metrics if metric in chosen}
    tested = {f"{test} {metric}": scores[metric]["score"] for test, scores in tests.items() for metric in metrics}
    return Result(name, seed, settings, valid | tested)


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    items: list[tuple[str, Any]] = []
    for key, value in config.items():
        items += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + str(key), value)]
    return items


def table(results: Sequence[Result]) -> str:
    """Markdown: a row for each configuration, in the order of the first run of each; what tells rows apart is named."""
    rows: list[list[Result]] = []
    for result in results:
        row = next((row for row in rows if row[0].settings == result.settings), None)
        if row is None:
            rows.append([result])
        else:
            row.append(result)
    settings = [row[0].settings for row in rows]
    varied = [key for key in settings[0] if any(each[key] != settings[0][key] for each in settings)]
    columns = dict.fromkeys(column for result in results for column in result.scores)
    lines = [["run", "seeds", *columns]]
    for row in rows:
        first = row[0]
        differences = [f"{key}={first.settings[key]}" for key in varied]
        seeds = ", ".join(str(result.seed) for result in row)
        lines.append([" ".join([first.name, *differences]), seeds, *(_cell(row, column) for column in columns)])
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(row: Sequence[Result], column: str) -> str:
    scores = [result.scores[column] for result in row if column in result.scores]
    if not scores:
        return ""
    mean = f"{statistics.mean(scores):.2f}"
    return f"{mean} ± {statistics.stdev(scores):.2f}" if len(scores) > 1 else mean


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Raises:
        SystemExit: 2 after an error that has a remedy.
    """
    parser = argparse.ArgumentParser(
        prog="python -m seq2seq results",
        description="A Markdown table of finished runs; seeds of one configuration as mean ± standard deviation.",
    )
    parser.add_argument("run_dirs", nargs="+", type=Path, metavar="RUN_DIR", help="directory of a finished run")
    parser.add_argument("--metrics", nargs="+", default=["bleu"], help=f"of {', '.join(TEST_METRICS)}; default: bleu")
    args = parser.parse_args(argv)
    try:
        print(table([read_result(run_dir, args.metrics) for run_dir in args.run_dirs]))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
