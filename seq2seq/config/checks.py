"""Checks that several sections share."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seq2seq.errors import PluginError
from seq2seq.plugins import VARIABLE, import_installed_plugins

# Patterns of file names, what Windows refuses, line ends and the like, halves of characters.
_NOT_IN_FILE_NAMES = re.compile(r'[*?\[\]\\:<>|"\x00-\x1f\x7f\ud800-\udfff]')
MOST_AT_ONCE = 1_024  # processes or threads on one machine
_LONGEST_FILE_NAME = 200  # bytes; file systems take 255, and endings are added


def one_of(section: str, config: Any, **choices: tuple[str, ...]) -> Iterator[str]:
    for name, allowed in choices.items():
        value = getattr(config, name)
        if value not in allowed:
            yield f"{section}.{name}={value!r} is not one of {', '.join(allowed)}"


def built_in_or_added(
    key: str, value: str, built_in: Sequence[str], added: Mapping[str, Any], plugins: Sequence[str]
) -> Iterator[str]:
    """Report a name that is neither built in nor added by a plugin.

    Args:
        plugins: the modules that the configuration names.
    Raises:
        PluginError: one of them is not imported, since only a saved model names it; or see `import_installed_plugins`.
    """
    for name in sorted(added.keys() & set(built_in)):
        yield f"{key}: a plugin adds {name!r}, which is built in; give it another name"
    if value in built_in:
        return
    if value not in added:
        import_installed_plugins()
    if value in added:
        return
    if missing := [name for name in plugins if name not in sys.modules]:
        raise PluginError(
            f"{key}={value!r} needs a plugin, and a saved model imports none; if you trust {', '.join(missing)}, set "
            f"{VARIABLE}={','.join(missing)} (docs/python.md)"
        )
    yield (
        f"{key}={value!r} is not one of {', '.join([*built_in, *added])}; plugins=[MODULE] imports a module that adds "
        "another (docs/python.md)"
    )


def at_least(section: str, config: Any, **bounds: float) -> Iterator[str]:
    for name, low in bounds.items():
        value = getattr(config, name)
        if value < low:
            yield f"{section}.{name}={value} is below {low}, the smallest value that works"
        elif not value >= low:  # NaN
            yield f"{section}.{name}={value} is not a number"


def at_most(section: str, config: Any, **bounds: float) -> Iterator[str]:
    for name, high in bounds.items():
        value = getattr(config, name)
        if value > high:
            yield f"{section}.{name}={value} is above {high:g}, the largest value that works"


def not_too_many(section: str, config: Any, *names: str) -> Iterator[str]:
    """Report more processes or threads than any machine has: they would be started until the system refuses."""
    for name in names:
        value = getattr(config, name)
        if value > MOST_AT_ONCE:
            yield f"{section}.{name}={value} is more than {MOST_AT_ONCE}; give as many as this machine has cores"


def names_a_file(key: str, name: str) -> Iterator[str]:
    """Report a name that must not become a path: it could lead out of its folder, or no file could have it."""
    if _NOT_IN_FILE_NAMES.search(name) or not all(
        part and not part.startswith(".") and len(part.encode()) <= _LONGEST_FILE_NAME for part in name.split("/")
    ):
        yield (
            f"{key}: {name[:60]!r} cannot name a file; between slashes, use 1 to {_LONGEST_FILE_NAME} bytes that do "
            'not begin with a dot, and none of * ? [ ] \\ : < > | "'
        )


def names_a_language(key: str, name: str) -> Iterator[str]:
    """Report a language that cannot be the ending of a file, or was no text."""
    if name in ("True", "False"):
        yield f'{key}={name} is no language: YAML reads no as false; write "no" in quotes'
    elif not re.fullmatch(r"\w[\w.-]{0,40}", name):
        yield f"{key}={name[:60]!r} cannot end the name of a file; use letters, digits, _, - and . alone, as in de_AT"
