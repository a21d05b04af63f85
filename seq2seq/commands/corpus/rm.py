"""Remove corpora by name from the cache:  python -m seq2seq corpus rm multi30k"""

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = ""


def run(args: argparse.Namespace) -> None:
    raise NotImplementedError
