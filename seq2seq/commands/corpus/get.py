"""Fetch corpora by name into the cache:  python -m seq2seq corpus get multi30k"""

import argparse

from seq2seq.commands.corpus.places import add_languages, add_places, library_of


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Fetch corpora into the cache, where training finds them. A name is one of the catalogue (multi30k, or "
        "multi30k/train for a part of it), or any other that data.train takes: sacrebleu:wmt14, opus:CORPUS/VERSION, "
        "hf:NAME/CONFIG, https://HOST/FILE#sha256=DIGEST."
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="what `corpus find` lists")
    add_languages(parser)
    add_places(parser)
    parser.add_argument("--offline", action="store_true", help="fetch nothing; say whether all is there")


def run(args: argparse.Namespace) -> None:
    library = library_of(args, is_offline=args.offline)

    from seq2seq.corpus.named.fetch import fetch_all

    for name, files in fetch_all(library, args.names, tuple(args.languages)):
        print(f"{name}: {files}")
