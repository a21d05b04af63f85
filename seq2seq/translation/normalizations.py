"""What may be changed in a line before it is translated, and how the option `normalize` says it."""

from typing import Literal, get_args

from seq2seq.errors import ConfigError

Kind = Literal["quotes", "spaces", "forms", "case", "pieces"]
KINDS: tuple[Kind, ...] = get_args(Kind)
AUTO, NEVER, ALWAYS = "auto", "never", "always"


def kinds_of(normalize: str) -> tuple[Kind, ...]:
    """The kinds that an option names: `auto`, `never`, `always`, or kinds with commas between them.

    Raises:
        ConfigError: it names something else.
    """
    if normalize == NEVER:
        return ()
    if normalize in (AUTO, ALWAYS):
        return KINDS
    names = normalize.split(",")
    if unknown := [name for name in names if name not in KINDS]:
        raise ConfigError(
            f"normalize={unknown[0]!r} is not one of {AUTO}, {NEVER}, {ALWAYS}, nor of the kinds {', '.join(KINDS)}"
        )
    return tuple(kind for kind in KINDS if kind in names)
