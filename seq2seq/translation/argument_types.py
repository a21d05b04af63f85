"""What a program hands over, checked: a sentence in place of a traceback from deep inside."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from seq2seq.errors import TokenizerError

Item = TypeVar("Item")

_KINDS: dict[Any, tuple[type, str]] = {
    str: (str, "a string"),
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
}


def check_types(values: Mapping[str, object], hints: Mapping[str, Any]) -> None:
    """Check arguments against their annotations, of which only strings, numbers and bools count.

    Raises:
        TypeError: there is no such argument, or it is of another type. A bool is no number.
    """
    for name, value in values.items():
        if name not in hints:
            close = difflib.get_close_matches(name, hints, n=1)
            hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(hints)}"
            raise TypeError(f"there is no argument {name}; {hint}")
        kind, words = _KINDS.get(hints[name], (object, ""))
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (Integral, Real)):
            raise TypeError(f"{name}={value!r} is of the type {type(value).__name__}; give {words}")


def listed(values: Iterable[Item], name: str, item: str) -> Iterable[Item]:
    """`values` themselves, if they are many.

    Raises:
        TypeError: they are one string, or nothing that can be iterated over.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        what = "one string" if isinstance(values, str) else f"of the type {type(values).__name__}"
        raise TypeError(f"{name} is {what}; pass a list with {item}")
    return values


def strings(values: Iterable[str], name: str) -> Iterator[str]:
    """The strings of a list, each checked when it is asked for.

    Raises:
        TypeError: at once: see `listed`; later: one is no string.
        TokenizerError: one is not Unicode.
    """
    return _strings(listed(values, name, "a string for each line"), name)


def _strings(values: Iterable[str], name: str) -> Iterator[str]:
    for number, value in enumerate(values):
        check_string(value, f"{name}[{number}]")
        yield value


def check_string(value: str, name: str) -> None:
    """
    Raises:
        TypeError: it is no string.
        TokenizerError: it is not Unicode.
    """
    check_types({name: value}, {name: str})
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(f"{name}={value[:60]!r} has half a surrogate pair; decode the input as UTF-8") from error
