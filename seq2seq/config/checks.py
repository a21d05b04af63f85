"""Checks that several sections share."""

from collections.abc import Iterator
from typing import Any


def one_of(section: str, config: Any, **choices: tuple[str, ...]) -> Iterator[str]:
    for name, allowed in choices.items():
        value = getattr(config, name)
        if value not in allowed:
            yield f"{section}.{name}={value!r} is not one of {', '.join(allowed)}"


def at_least(section: str, config: Any, **bounds: float) -> Iterator[str]:
    for name, low in bounds.items():
        value = getattr(config, name)
        if value < low:
            yield f"{section}.{name}={value} is below {low}, the smallest value that works"
