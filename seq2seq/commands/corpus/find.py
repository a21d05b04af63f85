"""List the corpora that can be fetched by name:  python -m seq2seq corpus find --languages fr en"""

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = ""


def run(args: argparse.Namespace) -> None:
    raise NotImplementedError
