"""Search for the best values of keys with Optuna:  python -m seq2seq search multi30k --trials 20

Each trial is a run of `train.py`, and a bad one ends early. Given the directory of a search in place of SPACE, the
command goes on with it, or helps as another worker while it is at work.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help stays quick
    from seq2seq.artifacts.sweep_directory import SweepDirectory
    from seq2seq.sweeps.space import Space


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Search for the best values of keys: runs whose values Optuna chooses, and a table of them."
    parser.add_argument(
        "space",
        metavar="SPACE",
        help="a YAML file with a search space, the name of one in conf/search, or a search's directory, to go on",
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="words of train.py for all trials; run_dir=PATH: of the search"
    )
    parser.add_argument("--trials", type=int, metavar="N", help="trials in all; default: as the space says")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="trials at the same time; default: 1")
    parser.add_argument(
        "--wandb", action="store_true", help="train nothing; print the same search as a sweep of Weights & Biases"
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.sweep_directory import SweepDirectory
    from seq2seq.config.compose import composed
    from seq2seq.errors import ConfigError
    from seq2seq.sweeps.search import begin_search, read_search, words_of_trials
    from seq2seq.sweeps.space import find_space
    from seq2seq.sweeps.wandb_sweep import wandb_sweep
    from seq2seq.training.composed import checked, fresh_directory

    for name in ("trials", "workers"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise ConfigError(f"--{name} {value} is below 1")
    sweep = SweepDirectory(Path(args.space))
    if sweep.is_search and (args.words or args.wandb):
        word = args.words[0] if args.words else "--wandb"
        raise ConfigError(f"{word} cannot change a search that goes on; leave it out, or begin another one")
    space, words = read_search(sweep) if sweep.is_search else (find_space(args.space), [])
    if args.trials:
        space = replace(space, trials=args.trials)
    if not sweep.is_search:
        words = words_of_trials(space, args.words)
        named = [word for word in args.words if word.startswith("run_dir=")]
        with composed([*words, *named]) as job:
            run_dir = Path(checked(job).run_dir)
        if args.wandb:
            print(wandb_sweep(space, words), end="")
            return
        sweep = SweepDirectory(run_dir if named else fresh_directory(run_dir))
        begin_search(sweep, space, words)
    _work(sweep, space, words, args.workers)


def _work(sweep: "SweepDirectory", space: "Space", words: "Sequence[str]", n_workers: int) -> None:
    from seq2seq.sweeps.search import Search
    from seq2seq.sweeps.summary import summarise_if_tracked
    from seq2seq.sweeps.trial_table import report

    search = Search(sweep, space, words)
    search.work(n_workers)
    summarise_if_tracked(sweep.path)
    print(report(search))
