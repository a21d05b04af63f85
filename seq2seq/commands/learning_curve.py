"""Draw how runs learned:  python -m seq2seq learning-curve RUN_DIR... --output curve.png"""

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Draw loss and BLEU over the steps of one or more runs, finished or not."
    parser.add_argument("run_dirs", nargs="+", type=Path, metavar="RUN_DIR", help="directory of a run")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("learning_curve.png"),
        metavar="FILE",
        help="the picture; the ending of its name chooses the format (.png, .svg, .pdf); default: learning_curve.png",
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.run_directory import RunDirectory
    from seq2seq.reports.learning_curve import draw
    from seq2seq.translation.destination import check_file

    check_file(args.output, [])
    draw([RunDirectory(path) for path in args.run_dirs], args.output)
