"""List what the cache has of corpora by name:  python -m seq2seq corpus list"""

import argparse

from seq2seq.commands.corpus.places import add_places, library_of


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "List the corpora in the cache with their sizes and licences."
    add_places(parser)


def run(args: argparse.Namespace) -> None:
    library = library_of(args)

    from seq2seq.corpus.named.found import cached

    print("\n".join(cached(library)))
