"""Draw the picture of the house in docs/architecture.md:  python docs/draw_house.py

A room is a file or a folder directly in `seq2seq/`. An arrow leads from a room to a room that it imports. Arrows that
follow from others are left out. `tests/test_imports.py` reads the imports with the functions of this file, which needs
the standard library only.
"""

import argparse
import ast
import sys
from functools import cache
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/architecture.md"
BEGIN, END = "<!-- `make picture` writes what follows -->\n", "<!-- end of the picture -->\n"
FRONT = "seq2seq"  # the package itself, seq2seq/__init__.py: what a program sees of it


@cache
def modules() -> dict[str, Path]:
    """Dotted name: file."""
    found = {}
    for path in sorted((ROOT / FRONT).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room(module: str) -> str:
    """The room of a module: `corpus` of `seq2seq.corpus.reader`, and `seq2seq` of the package itself."""
    return module if module == FRONT else module.split(".")[1]


@cache
def imports(module: str) -> frozenset[str]:
    """What a module names in its imports, wherever they stand: in functions and for type checkers as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: a relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


@cache
def imported_modules(module: str) -> frozenset[str]:
    """The modules of the house that the imports of a module run.

    An import of `seq2seq.config.data` also runs `seq2seq/config/__init__.py`. It runs `seq2seq/__init__.py` as well,
    but what that file needs for `load` and `train` is imported when they are called, and its configuration by all: the
    package itself counts only where it is named.
    """
    found: set[str] = set()
    for name in imports(module):
        prefixes = accumulate(name.split("."), "{}.{}".format)  # seq2seq, seq2seq.config, seq2seq.config.data
        known = [prefix for prefix in prefixes if prefix in modules()]
        found.update(known[-1:], set(known) - {FRONT})
    return frozenset(found - {module})


def arrows() -> dict[str, set[str]]:
    """Room: the rooms that it imports, without those that one of these rooms imports anyway."""
    direct: dict[str, set[str]] = {room(module): set() for module in modules()}
    for module in modules():
        direct[room(module)] |= {room(imported) for imported in imported_modules(module)} - {room(module)}
    return {
        name: {target for target in targets if not any(target in _reached(other, direct) for other in targets)}
        for name, targets in direct.items()
    }


def _reached(start: str, direct: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = direct[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def picture() -> str:
    """The house in the language of Mermaid, which GitHub draws."""
    house = arrows()
    rooms = [f'{name}["<b>{_file(name)}</b><br>{_label(name)}"]' for name in house]
    imported = [f"{name} --> {' & '.join(sorted(targets))}" for name, targets in house.items() if targets]
    lines = "".join(f"    {line}\n" for line in rooms + imported)
    return f"```mermaid\nflowchart TD\n{lines}```\n"


def _path(name: str) -> Path:
    return modules()[name if name == FRONT else f"{FRONT}.{name}"]


def _file(name: str) -> str:
    is_folder = name != FRONT and _path(name).name == "__init__.py"
    return f"{name}/" if is_folder else _path(name).name.replace("__", "#95;#95;")  # __ is bold in Mermaid


def _label(name: str) -> str:
    """The first line of the docstring, up to its first colon, full stop or parenthesis."""
    docstring = ast.get_docstring(ast.parse(_path(name).read_text(encoding="utf-8")))
    assert docstring, f"{_path(name)} has no docstring, which the picture would show"
    label = docstring.partition("\n")[0].partition(": ")[0].partition(". ")[0].partition(" (")[0]
    return label.rstrip(".").replace("`", "").replace('"', "#quot;")


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw the picture of the house in docs/architecture.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the picture is out of date")
    is_check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    assert found_end, f"{PAGE}: no {BEGIN.strip()} before {END.strip()}"
    current = before + BEGIN + picture() + END + after
    if page == current:
        return 0
    if is_check:
        print("docs/architecture.md: the picture is out of date. Run `make picture`, and commit what it writes.")
        return 1
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
