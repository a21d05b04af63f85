"""Write docs/options.md from the options of translate.py:  python docs/write_options.py"""

import argparse
import sys
from pathlib import Path
from typing import get_type_hints

from seq2seq.commands.translate import OPTIONS
from seq2seq.options import Option, flag
from seq2seq.translation.options import EngineSettings, Settings

PAGE = Path(__file__).parent / "options.md"
HEAD = """# Options of translate.py

`make picture` writes this page from the tables that `--help` shows, too. [translation.md](translation.md) says what the
options are for.
"""


def page() -> str:
    """The whole page."""
    groups: dict[str, list[str]] = {}
    for name, option in OPTIONS.items():
        groups.setdefault(option.group or "model", []).append(_row(name, option))
    tables = (
        "\n".join(
            [f"\n## {group.capitalize()}\n", "| option | from Python | what it does |", "|---|---|---|", *rows, ""]
        )
        for group, rows in groups.items()
    )
    return HEAD + "".join(tables)


def _row(name: str, option: Option) -> str:
    names, metavar = [name], option.metavar
    if isinstance(metavar, tuple):  # A and B of `max_length_a` and `max_length_b`
        names, metavar = [name, f"{name[:-1]}b"], " ".join(metavar)
    words = " ".join(filter(None, [flag(OPTIONS, name), "/".join(option.choices) or metavar]))
    call = "load" if name in get_type_hints(EngineSettings) else "translate" if name in get_type_hints(Settings) else ""
    python = f"`{call}({', '.join(f'{each}=' for each in names)})`" if call else ""
    return f"| `{words}` | {python} | {option.help.replace('%%', '%').replace('|', chr(92) + '|')} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/options.md is out of date. Run `make picture`, and commit what it writes.")


if __name__ == "__main__":
    main()
