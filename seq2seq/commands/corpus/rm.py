"""Remove corpora by name from the cache:  python -m seq2seq corpus rm multi30k"""

import argparse

from seq2seq.commands.corpus.places import add_places, library_of


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Remove fetched corpora from the cache: downloads, what was made of them, and downloads that were cut. "
        "Prepared text (token ids) and the checksums of first downloads stay."
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="as `corpus list` shows it")
    parser.add_argument(
        "--archives", action="store_true", help="only the archives of which the files have been made that are used"
    )
    add_places(parser)


def run(args: argparse.Namespace) -> None:
    library = library_of(args)

    from seq2seq.corpus.named.found import remove

    for name in args.names:
        print(remove(library, name, only_archives=args.archives))
