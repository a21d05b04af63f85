"""List the corpora that can be fetched by name:  python -m seq2seq corpus find --languages fr en"""

import argparse

from seq2seq.commands.corpus.places import add_languages, add_places, library_of


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the corpora of two languages that can be fetched by name: those of the catalogue, the test sets that "
        "sacreBLEU knows, and what OPUS has."
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only lines with each of these words, such as opus")
    add_languages(parser)
    add_places(parser)


def run(args: argparse.Namespace) -> None:
    library = library_of(args)

    from seq2seq.corpus.named.found import find_corpora
    from seq2seq.exit_status import note

    lines, problems = find_corpora(library, tuple(args.languages), args.words)
    print("\n".join(lines))
    for problem in problems:
        note(problem)
