"""Find and fetch corpora by name, and look at them:  python -m seq2seq corpus get multi30k

Each file here is a sub-command with `add_options(parser)` and `run(args)`, as the files of `commands/` are. The first
line of its docstring says what it does, and shows an example.
"""

import argparse

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
    subparsers = parser.add_subparsers(metavar="SUBCOMMAND", required=True, title="sub-commands")
    for name, module in SUBCOMMANDS.items():
        summary = (module.__doc__ or "").partition(":  ")[0]
        subparser = subparsers.add_parser(name, help=summary[:1].lower() + summary[1:])
        module.add_options(subparser)
        subparser.set_defaults(run_subcommand=module.run)


def run(args: argparse.Namespace) -> int | None:
    status: int | None = args.run_subcommand(args)
    return status
