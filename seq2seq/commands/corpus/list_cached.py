"""List what the cache has of corpora by name:  python -m seq2seq corpus list"""

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = ""


def run(args: argparse.Namespace) -> None:
    raise NotImplementedError
