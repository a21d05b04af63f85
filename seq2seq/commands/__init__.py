"""The commands: one file or folder each, with its options and their help. Other folders do the work."""

import argparse
from collections.abc import Mapping
from types import ModuleType

# What `--help` and the site name first, and what they name after it.
FIRST = ("corpus", "train", "translate", "score", "compare", "report", "attention", "export")
MORE = ("prepare", "backtranslate", "distill", "search", "join", "heads", "encode")


def add_commands(parser: argparse.ArgumentParser, groups: Mapping[str, Mapping[str, ModuleType]]) -> None:
    """Let the next word name one of these modules, whose `run` is then that of the arguments.

    Args:
        groups: the modules by name, under the titles that the help gives them.
    """
    lines = []
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, prog=parser.prog, help=argparse.SUPPRESS)
    for title, modules in groups.items():
        lines.append(f"\n{title}:")
        for name, module in modules.items():
            summary = (module.__doc__ or "").partition(":  ")[0]
            lines.append(f"  {name:<15} {summary[:1].lower()}{summary[1:]}")
            subparser = subparsers.add_parser(name)
            if hasattr(module, "add_options"):
                module.add_options(subparser)
            if hasattr(module, "run"):
                subparser.set_defaults(run=module.run)
    parser.usage = f"{parser.prog} [-h] COMMAND ..."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join([*lines, f"\n{parser.prog} COMMAND --help explains a command."]).lstrip()
