"""What each file and folder directly in `seq2seq/` is, and what it imports.

`tests/test_imports.py` reads the imports with these functions, and reference.py makes a page of the site from them.
They need the standard library only.
"""

import ast
from functools import cache
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FRONT = "seq2seq"  # the package itself, seq2seq/__init__.py: what a program sees of it


@cache
def modules() -> dict[str, Path]:
    """Dotted name: file."""
    found = {}
    for path in sorted((ROOT / FRONT).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def package(module: str) -> str:
    """What a module belongs to: `corpus` for `seq2seq.corpus.reader`, and `seq2seq` for the package itself."""
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
    """The modules of the project that the imports of a module run.

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


def imported_packages() -> dict[str, set[str]]:
    """Package: the packages that it imports, without those that one of these imports anyway."""
    direct: dict[str, set[str]] = {package(module): set() for module in modules()}
    for module in modules():
        direct[package(module)] |= {package(each) for each in imported_modules(module)} - {package(module)}
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


def path_of(name: str) -> str:
    """The file or folder of a package, as it is seen in `seq2seq/`."""
    path = modules()[name if name == FRONT else f"{FRONT}.{name}"]
    return f"{name}/" if name != FRONT and path.name == "__init__.py" else path.name


def summary_of(name: str) -> str:
    """The first line of the docstring of a package."""
    path = modules()[name if name == FRONT else f"{FRONT}.{name}"]
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring, f"{path} has no docstring, which the site would show"
    return docstring.partition("\n")[0]
