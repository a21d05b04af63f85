"""Give W&B the table of all scores of a sweep:  python -m seq2seq wandb summary SWEEP_DIR"""

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Give W&B one more run, in the group of a sweep, with the table of what differs between its jobs and of all "
        "their scores. A later call brings it up to date."
    )
    parser.add_argument("sweep_dir", type=Path, metavar="SWEEP_DIR", help="directory of a sweep")


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.run_directory import runs_in
    from seq2seq.errors import RunError
    from seq2seq.sweeps.summary import log_sweep_summary

    runs = runs_in(args.sweep_dir)
    if (args.sweep_dir / "config.yaml").is_file() or not (runs[0].path / "config.yaml").is_file():
        raise RunError(f"{args.sweep_dir}: is not the directory of a sweep, which has a folder for each job")
    log_sweep_summary(runs, args.sweep_dir)
