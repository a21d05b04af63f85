"""What each key is: marked once, where the key is defined. Whoever treats some keys in their own way asks for the mark.

What a key decides, and so whether it may change when a run is resumed:

identity    decides what is computed; a resumed run refuses another value. Keys without a mark are of this class.
start       decides what comes out of a new run; free when it is resumed
horizon     how long the run is, and how its validations are measured; what follows is planned anew, and said
runtime     where the run computes, what it reports and what it is called; free, and the recipe is the same

Besides, a key may name a place or an account that means nothing elsewhere (`is_local`), or matter to training alone,
and not to what a trained model is (`only_trains`).
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, cast

IDENTITY, START, HORIZON, RUNTIME = "identity", "start", "horizon", "runtime"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Mark:
    """See above."""

    on_resume: str = IDENTITY
    is_local: bool = False
    only_trains: bool = False

    @property
    def is_place(self) -> bool:
        """Whether it says where a run is and who is told, and nothing of what it computes."""
        return self.is_local and self.on_resume == RUNTIME


_MARK, _UNMARKED = "mark", Mark()


def start(default: _T, *, is_local: bool = False) -> _T:
    """A default of a key of the class `start`."""
    return _marked(default, Mark(START, is_local))


def horizon(default: _T) -> _T:
    """A default of a key of the class `horizon`."""
    return _marked(default, Mark(HORIZON))


def runtime(default: _T, *, is_local: bool = False) -> _T:
    """A default of a key of the class `runtime`."""
    return _marked(default, Mark(RUNTIME, is_local))


def for_training(default: _T) -> _T:
    """A default of a key that matters to training alone."""
    return _marked(default, Mark(only_trains=True))


def section(make: Callable[[], _T], on_resume: str, *, is_local: bool = False) -> _T:
    """A section of the configuration whose keys have one mark, unless they have a mark of their own."""
    return dataclasses.field(default_factory=make, metadata={_MARK: Mark(on_resume, is_local)})


def _marked(default: _T, mark: Mark) -> _T:
    return dataclasses.field(default=default, metadata={_MARK: mark})


@cache
def marks(config: type, prefix: str = "", inherited: Mark = _UNMARKED) -> dict[str, Mark]:
    """The mark of each key of a configuration, by its dotted name; of keys, not of sections."""
    found: dict[str, Mark] = {}
    for item in dataclasses.fields(config):
        name, own = prefix + item.name, item.metadata.get(_MARK, inherited)
        if dataclasses.is_dataclass(item.type):
            found |= marks(cast(type, item.type), f"{name}.", own)
        else:
            found[name] = own
    return found


def mark_of(config: type, key: str) -> Mark:
    """The mark of a dotted key or section. What is not known, or is inside a value, has that of what it is in."""
    mark = _UNMARKED
    for name in key.split("."):
        items = dataclasses.fields(config) if dataclasses.is_dataclass(config) else ()
        if (item := next((item for item in items if item.name == name), None)) is None:
            break
        mark, config = item.metadata.get(_MARK, mark), cast(type, item.type)
    return mark


def classes(config: type) -> dict[str, str]:
    """What each key decides, by its dotted name."""
    return {key: mark.on_resume for key, mark in marks(config).items()}


def value_of(config: Any, key: str) -> Any:
    """The value of a dotted key."""
    return attrgetter(key)(config)
