"""Make one table of many runs, with seeds as mean and standard deviation:  python -m seq2seq results RUN_DIR..."""

import argparse
from pathlib import Path

from seq2seq.evaluation.scores import TEST_METRICS


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Make a Markdown table of finished runs, with seeds as mean ± standard deviation."
    parser.add_argument(
        "run_dirs", nargs="+", type=Path, metavar="RUN_DIR", help="directory of a finished run, or of a sweep"
    )
    names = ", ".join(TEST_METRICS)
    parser.add_argument("--metrics", nargs="+", default=["bleu"], help=f"any of {names}; default: bleu")


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.run_directory import runs_in
    from seq2seq.reports.results import read_result, table

    print(table([read_result(run, args.metrics) for path in args.run_dirs for run in runs_in(path)]))
