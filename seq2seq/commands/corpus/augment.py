"""Write text as people write it, to test a model on it:  python -m seq2seq corpus augment test.fr --as typos"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from seq2seq.corpus.augmentation import AUGMENTATIONS, SEED
from seq2seq.options import not_negative_integer


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Write text as people write it: in capitals, without accents, with typing errors, with emoji."
    parser.epilog = (
        "The same text, kinds and seed give the same result. A test set can be augmented as it is read, too: "
        "data.test={NAME: {source: test, augmentation: typos}}."
    )
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="source text, then its translations, a line for each line; - is stdin; plain, .gz, .xz, .bz2 or .zst",
    )
    add("--as", dest="kinds", required=True, metavar="KINDS", help="names of --list, with commas: one after another")
    add(
        "--seed",
        type=not_negative_integer,
        default=SEED,
        metavar="N",
        help=f"of what is left to chance; default: {SEED}",
    )
    add("--output", nargs="+", type=Path, default=[], metavar="FILE", help="one for each FILE; default: stdout")
    add("--list", action=_List, nargs=0, help="print the kinds and end")


class _List(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[str] | None,
        option_string: str | None = None,
    ) -> None:
        width = max(map(len, AUGMENTATIONS))
        print("\n".join(f"{name:{width}}  {augmentation.reason}" for name, augmentation in AUGMENTATIONS.items()))
        parser.exit()


def run(args: argparse.Namespace) -> None:
    from seq2seq.corpus.augmentation.kinds import named
    from seq2seq.corpus.augmentation.write import write_augmented
    from seq2seq.translation.destination import check_file

    for output in args.output:
        check_file(output, [(str(file), file) for file in args.files])
    write_augmented(args.files, args.output, named(args.kinds.split(",")), args.seed)
