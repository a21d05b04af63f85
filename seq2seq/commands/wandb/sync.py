"""Upload to W&B what runs recorded offline:  python -m seq2seq wandb sync RUN_DIR..."""

import argparse
from pathlib import Path

from seq2seq.options import above_zero


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Upload to W&B what runs recorded offline: every part of a resumed run, in its order, into one W&B run. What "
        "was uploaded before is left out."
    )
    parser.add_argument(
        "run_dirs", nargs="+", type=Path, metavar="RUN_DIR", help="directory of a run, or of a sweep for all its jobs"
    )
    parser.add_argument(
        "--timeout", type=above_zero, default=600.0, metavar="SECONDS", help="for one part; default: 600"
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.wandb_sync import sync

    sync(args.run_dirs, args.timeout)
