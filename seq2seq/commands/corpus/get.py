"""Fetch corpora by name into the cache:  python -m seq2seq corpus get multi30k"""

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = ""


def run(args: argparse.Namespace) -> None:
    raise NotImplementedError
