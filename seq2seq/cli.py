"""The command line:  python -m seq2seq COMMAND, or seq2seq COMMAND where the package is installed

Each module of `commands/` is a command. It has `add_options(parser)` and `run(args)`, which returns the exit status;
one with sub-commands leaves `run` to them. The first line of its docstring says what it does. Only `train` and
`prepare` have no options of their own: Hydra reads their words.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

from seq2seq import __version__, commands
from seq2seq.exit_status import exit_status
from seq2seq.options import Parser

READ_BY_HYDRA = ("train", "prepare")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command that the first word names.

    Raises:
        SystemExit: always after an error, with a status of `exit_status`.
    """
    words = list(sys.argv[1:] if argv is None else argv)

    def work() -> int | None:
        if words and words[0] in READ_BY_HYDRA:
            return _module(words[0]).run(words[1:])
        args = _parsed(build_parser(), words)
        return args.run(args)

    _do(work, is_program=argv is None)


def front_door(command: str, argv: Sequence[str] | None = None, prog: str | None = None) -> None:
    """Run one command for a script of its own: `train.py` or `translate.py`."""
    words = list(sys.argv[1:] if argv is None else argv)

    def work() -> int | None:
        module = _module(command)
        if not hasattr(module, "add_options"):
            return module.run(words)
        parser = Parser(prog=prog or f"seq2seq {command}")
        module.add_options(parser)
        return module.run(_parsed(parser, words))

    _do(work, is_program=argv is None)


def command_names() -> list[str]:
    """The names of the commands, in the order of the help."""
    return [*commands.FIRST, *commands.MORE]


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands. It knows only the names of those that Hydra reads."""
    parser = Parser(
        prog="seq2seq",
        description="Train translation models, translate with them, and compare their translations.",
    )
    parser.add_argument("--version", action="version", version=f"seq2seq {__version__}")
    groups = {"commands": commands.FIRST, "more": commands.MORE}
    commands.add_commands(parser, {title: {name: _module(name) for name in names} for title, names in groups.items()})
    return parser


def _module(command: str) -> ModuleType:
    return import_module(f"seq2seq.commands.{command.replace('-', '_')}")


def _parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """If a shell asks for completions, answer and end. docs/configuration.md says how to switch completion on."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser, print_suppressed=True)
    return parser.parse_args(words)


def _do(work: Callable[[], int | None], *, is_program: bool) -> None:
    if status := exit_status(work, is_program=is_program):
        sys.exit(status)
