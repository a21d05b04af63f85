"""Train a student on what teachers translate:  python -m seq2seq distill RUN experiment=demo model=tiny --output DIR"""

import argparse
import os
from pathlib import Path

from seq2seq.exit_status import show_log
from seq2seq.options import add_launchers, not_negative, positive

KEEP_SHARE = 0.95  # as in Firefox's pipeline


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Teachers translate the training text of a student, which learns from that and is compared with its teachers; "
        "its weights in 8 bits, too, which needs the package ctranslate2. The same command goes on with what is not "
        "done yet."
    )
    add = parser.add_argument
    add(
        "words",
        nargs="+",
        metavar="TEACHER ... KEY=VALUE",
        help="one or more models (several are an ensemble), and the words of train.py for the student",
    )
    add("--output", type=Path, required=True, metavar="DIR", help="for all that is made: text, student, scores")
    add(
        "--each",
        action="store_true",
        help="the first teacher translates the first source of data.train, the second the second: specialists become "
        "one student. Otherwise all teachers translate all text together, which needs models of one vocabulary",
    )
    add(
        "--references",
        type=not_negative,
        default=0,
        metavar="SHARE",
        help="of the text that the student reads with its references, not with translations; default: 0, as was best",
    )
    add(
        "--n-best",
        type=positive,
        default=1,
        metavar="N",
        help="take, of the N best translations of a line, the one that is most like the reference; default: 1",
    )
    add(
        "--beam-size",
        type=positive,
        default=0,
        metavar="N",
        help="of the teachers; a small one is fast; default: their own, or N of --n-best",
    )
    add(
        "--mono",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="more text of the source language, one sentence a line, which has no references",
    )
    add(
        "--backward",
        type=Path,
        metavar="MODEL",
        help="a model of the other direction: the translations that it and the teacher find worst are left out",
    )
    add(
        "--keep-share",
        type=float,
        metavar="SHARE",
        help=f"of the translations, with --backward; default: {KEEP_SHARE}",
    )
    add_launchers(parser, "translation and training")


def run(args: argparse.Namespace) -> None:
    from seq2seq.distillation import Distillation
    from seq2seq.errors import ConfigError

    show_log()
    # Path.exists() raises an error for a word that is too long for a name.
    teachers = tuple(Path(word) for word in args.words if "=" not in word or os.path.exists(word))  # noqa: PTH110
    words = tuple(word for word in args.words if Path(word) not in teachers)
    if not teachers:
        raise ConfigError("name at least one teacher: a run, a checkpoint or a model directory")
    if not words:
        raise ConfigError("say what the student is, in words of train.py, such as experiment=demo model=tiny")
    if args.keep_share is not None and args.backward is None:
        raise ConfigError("--keep-share needs the scores of a model of the other direction; add --backward MODEL")
    Distillation(
        teachers,
        words,
        args.output,
        each=args.each,
        references=args.references,
        n_best=args.n_best,
        beam_size=args.beam_size,
        monolingual=tuple(args.mono),
        backward=args.backward,
        keep_share=KEEP_SHARE if args.keep_share is None else args.keep_share,
        n_processes=args.processes,
        launcher=args.launcher,
    ).run()
