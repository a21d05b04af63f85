"""What may change when a run is resumed. Each key is of one class, which is marked where the key is defined.

identity    decides what is computed; a resumed run refuses another value. Keys without a mark are of this class.
horizon     how long the run is, and how its validations are measured; what follows is planned anew, and said
runtime     where the run computes, what it reports and what it tests; free
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, cast

IDENTITY, HORIZON, RUNTIME = "identity", "horizon", "runtime"
_MARK = "on_resume"
_T = TypeVar("_T")


def horizon(default: _T) -> _T:
    """A default of a key of the class `horizon`."""
    return dataclasses.field(default=default, metadata={_MARK: HORIZON})


def runtime(default: _T) -> _T:
    """A default of a key of the class `runtime`."""
    return dataclasses.field(default=default, metadata={_MARK: RUNTIME})


def section(make: Callable[[], _T], mark: str) -> _T:
    """A section of the configuration whose keys are of one class, unless they have a mark of their own."""
    return dataclasses.field(default_factory=make, metadata={_MARK: mark})


def classes(config: type, prefix: str = "", mark: str = IDENTITY) -> dict[str, str]:
    """The class of each key of a configuration, by its dotted name; of keys, not of sections."""
    found: dict[str, str] = {}
    for item in dataclasses.fields(config):
        name, own = prefix + item.name, item.metadata.get(_MARK, mark)
        if dataclasses.is_dataclass(item.type):
            found |= classes(cast(type, item.type), f"{name}.", own)
        else:
            found[name] = own
    return found


def value_of(config: Any, key: str) -> Any:
    """The value of a dotted key."""
    for name in key.split("."):
        config = getattr(config, name)
    return config
