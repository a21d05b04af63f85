"""Make training text of one language alone:  python -m seq2seq backtranslate RUN --mono FILE --output DIR"""

import argparse
from pathlib import Path

from seq2seq.exit_status import show_log
from seq2seq.options import add_launchers, not_negative_integer, positive


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A model of the other direction translates text of the target language, and train.py reads the pairs as one "
        "more source of training text. The same command goes on with what is not done yet."
    )
    add = parser.add_argument
    add("models", nargs="+", type=Path, metavar="MODEL", help="from the language of the text to the other one")
    add("--mono", nargs="+", type=Path, required=True, metavar="FILE", help="the text, one sentence a line")
    add("--output", type=Path, required=True, metavar="DIR", help="for all that is made; the pairs are DIR/train")
    add(
        "--beam-size",
        type=positive,
        default=0,
        metavar="N",
        help="search for the best translation, as for a model of little text; by default they are drawn at random",
    )
    add("--seed", type=not_negative_integer, default=1, metavar="N", help="of what is drawn; default: 1")
    add_launchers(parser, "translation")


def run(args: argparse.Namespace) -> None:
    from seq2seq.backtranslation import backtranslate

    show_log()
    backtranslate(
        args.models,
        args.mono,
        args.output,
        beam_size=args.beam_size,
        seed=args.seed,
        n_processes=args.processes,
        launcher=args.launcher,
    )
