"""Compare runs and sweeps, their settings, scores and cost:  python -m seq2seq compare RUN RUN...

It reads only what runs keep: `config.yaml`, `run.json`, `metrics.csv`, `selection.json`, `scores.json`, `hypotheses/`
and `references/`.
"""

import argparse
import shutil
from pathlib import Path

from seq2seq.evaluation.scores import METRICS, N_SAMPLES, TEST_METRICS


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compare runs, finished or not: what differs in their settings, their scores with intervals, whether each "
        "differs from the first one by more than chance, and what they cost. Seeds of one recipe are compared together."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="directory of a run, or of a sweep")
    parser.add_argument("--baseline", type=Path, metavar="RUN", help="compare with this one; default: the first one")
    parser.add_argument("--by", default="", metavar="KEY", help="compare the values of this key, such as optim.lr")
    parser.add_argument("--test", action="append", default=[], metavar="NAME", help="only this test set; repeatable")
    parser.add_argument(
        "--metrics",
        nargs="+",
        choices=METRICS,
        default=[],
        help=f"default: those of the runs, of {' '.join(TEST_METRICS)}",
    )
    parser.add_argument(
        "--test-method",
        choices=(*N_SAMPLES, "none"),
        default="bs",
        help="paired bootstrap, approximate randomisation, or no tests: only what runs have kept; default: bs",
    )
    parser.add_argument(
        "--format", choices=("text", "markdown", "csv", "json"), default="text", help="csv has a line for each run"
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.reports.compare import compare, runs_to_compare
    from seq2seq.reports.comparison_forms import as_form

    runs = runs_to_compare(args.runs, args.baseline)
    comparison = compare(runs, args.test, args.metrics, args.test_method, args.by)
    print(as_form(comparison, args.format, shutil.get_terminal_size().columns))
