"""Test whether two runs differ by more than chance:  python -m seq2seq compare RUN_A RUN_B

It reads only what finished runs keep: `config.yaml`, `hypotheses/` and `references/`, and which scores are in
`scores.json`.
"""

import argparse
import json
from pathlib import Path

from seq2seq.evaluation.scores import METRICS, TEST_METRICS


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Test whether two runs differ by more than chance, on each test set that both have translated."
    parser.add_argument("run_a", type=Path, metavar="RUN_A", help="directory of a finished run")
    parser.add_argument("run_b", type=Path, metavar="RUN_B", help="directory of another finished run")
    parser.add_argument("--test", action="append", default=[], metavar="NAME", help="only this test set; repeatable")
    parser.add_argument(
        "--metrics",
        nargs="+",
        choices=METRICS,
        default=[],
        help=f"default: those of the runs, of {' '.join(TEST_METRICS)}",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object in place of the table")


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.run_directory import RunDirectory
    from seq2seq.reports.compare import as_json, compare, table

    comparison = compare(RunDirectory(args.run_a), RunDirectory(args.run_b), args.test, args.metrics)
    print(json.dumps(as_json(comparison), indent=2, ensure_ascii=False) if args.json else table(comparison))
