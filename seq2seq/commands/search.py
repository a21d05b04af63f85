"""Search for the best values of keys with Optuna:  python -m seq2seq search multi30k --trials 20

Each trial is a run of `train.py`, and a bad one ends early. Given the directory of a search in place of SPACE, the
command goes on with it, or helps as another worker while it is at work.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from seq2seq.options import positive


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Search for the best values of keys: runs whose values Optuna chooses, and a table of them. It needs the "
        "package optuna."
    )
    parser.add_argument(
        "space",
        metavar="SPACE",
        help="a YAML file with a search space, the name of one in conf/search, or a search's directory, to go on",
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="words of train.py for all trials; run_dir=PATH: of the search"
    )
    parser.add_argument("--trials", type=positive, metavar="N", help="trials in all; default: as the space says")
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="trials at the same time; default: 1")


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.sweep_directory import SweepDirectory
    from seq2seq.config.compose import composed
    from seq2seq.errors import ConfigError
    from seq2seq.sweeps.search import Search, begin_search, read_search, words_of_trials
    from seq2seq.sweeps.space import find_space
    from seq2seq.sweeps.trial_table import report
    from seq2seq.training.composed import checked, fresh_directory

    try:
        import optuna  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigError(
            "a search needs the package optuna; run, in a clone of seq2seq: pip install -e '.[sweep]'"
        ) from error
    sweep = SweepDirectory(Path(args.space))
    if sweep.is_search and args.words:
        raise ConfigError(f"{args.words[0]} cannot change a search that goes on; leave it out, or begin another one")
    space, words = read_search(sweep) if sweep.is_search else (find_space(args.space), [])
    if args.trials:
        space = replace(space, trials=args.trials)
    if not sweep.is_search:
        words = words_of_trials(space, args.words)
        named = [word for word in args.words if word.startswith("run_dir=")]
        with composed([*words, *named]) as job:
            run_dir = Path(checked(job).run_dir)
        for sample in space.samples():  # whether Hydra knows each value
            with composed([*words, *sample]):
                pass
        sweep = SweepDirectory(run_dir if named else fresh_directory(run_dir))
        begin_search(sweep, space, words)
    search = Search(sweep, space, words)
    search.work(args.workers)
    print(report(search))
