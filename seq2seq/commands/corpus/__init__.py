"""Find and fetch corpora by name, and look at them:  python -m seq2seq corpus get multi30k

Each file here is a sub-command with `add_options(parser)` and `run(args)`, as the files of `commands/` are. The first
line of its docstring says what it does, and shows an example.
"""

import argparse

from seq2seq.commands import add_commands
from seq2seq.commands.corpus import augment, clean, find, get, list_cached, report, split

SUBCOMMANDS = {
    "find": find,
    "get": get,
    "list": list_cached,
    "report": report,
    "clean": clean,
    "split": split,
    "augment": augment,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Find corpora, fetch them into the cache, see what is there, look at them, and clean them."
    add_commands(parser, {"sub-commands": SUBCOMMANDS})
