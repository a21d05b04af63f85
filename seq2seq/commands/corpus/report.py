"""Say what is in a corpus and what cleaning would drop:  python -m seq2seq corpus report train --languages fr en"""

import argparse

from seq2seq.commands.corpus.clean import add_common_options, clean_and_report


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Say what is in a corpus: lengths, languages, copies, repetitions, damage, and what it shares with valid and "
        "test. It changes nothing. docs/cleaning.md has the rules."
    )
    add_common_options(parser, rules=["all"], drop_overlap="near")


def run(args: argparse.Namespace) -> None:
    clean_and_report(args, output=None, rejected=None)
