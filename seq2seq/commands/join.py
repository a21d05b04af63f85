"""Join the parts of a text that several tasks have translated:  python -m seq2seq join OUTPUT

`translate.py --shard 3/8` makes parts. They are joined only if all are there, whole, and of the same text, model and
options.
"""

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Join the parts that translate.py --shard has made of one text. If one is missing or damaged, nothing is "
        "written, and what is missing is told."
    )
    parser.add_argument("output", type=Path, metavar="OUTPUT", help="what --output of translate.py was")
    parser.add_argument(
        "--reference",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="known translations of the whole text: print BLEU and chrF, as translate.py does",
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.corpus.reader import read_lines
    from seq2seq.errors import TranslationError, command
    from seq2seq.evaluation.scores import Scoring
    from seq2seq.exit_status import note
    from seq2seq.translation.parts import join
    from seq2seq.translation.result import print_scores, texts

    for path in args.reference:
        if not path.is_file():
            raise TranslationError(f"--reference {path}: no such file")
    n_references = {path: sum(1 for _ in read_lines(path)) for path in args.reference}  # can they be read?
    n_parts, n_lines, settings = join(args.output, is_to_score=bool(args.reference))
    note(f"joined {n_parts} parts, {n_lines:,} lines: {args.output}")
    for path, n in n_references.items():
        if n != n_lines:
            score = command("score", args.output, "--reference", path)
            raise TranslationError(f"--reference {path} has {n:,} lines, not {n_lines:,}; correct it, then: {score}")
    if args.reference:
        hypotheses = list(texts(read_lines(args.output), settings["form"], settings["alignment"]))
        scoring = Scoring(settings["language"])
        print_scores(hypotheses, args.reference, None, settings["typography"], scoring)
