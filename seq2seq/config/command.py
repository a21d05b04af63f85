"""The words of a command of `train.py`, and what Hydra made of them.

It is quick to import, since help and typing errors need no more.
"""

import dataclasses
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config.on_resume import marks
from seq2seq.config.read import describe
from seq2seq.config.run import RunConfig
from seq2seq.errors import ConfigError
from seq2seq.files import expanded

PATHS = tuple(key for key, mark in marks(RunConfig).items() if mark.is_local and "." not in key)  # of runs and models
_SOURCES = ("data.train", "data.valid", "data.test")  # text, or lists and mappings
AUTO = "auto"  # resume=auto: continue if there is something to continue from, else start


@dataclass(frozen=True)
class Composed:
    """What Hydra made of the words of a command, for one run."""

    cfg: DictConfig
    overrides: list[str]  # the words that set keys or choose presets

    def __post_init__(self) -> None:
        for key in PATHS:
            if self.cfg[key].startswith("~"):  # few shells expand it behind `=`
                self.cfg[key] = str(expanded(self.cfg[key]))

    @property
    def run_dir(self) -> Path:
        """Of the run that begins or goes on."""
        return Path(self.cfg.run_dir if self.cfg.resume in ("", AUTO) else self.cfg.resume)


def readable(word: str, *, is_sweep: bool) -> str:
    """A word for Hydra, whose grammar gives a meaning to many characters and knows ASCII alone.

    The value of a key that is text is any text, as a shell has handed it on: it is put into quotes if Hydra would
    refuse it, or take it for something else. Quotes, `${...}` and null mean to Hydra what they always do, and so does,
    in a sweep, a comma.

    Raises:
        ConfigError: it is not UTF-8, so no file of the run could hold it.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{word} is not UTF-8; rename it") from error
    key, equals, value = word.partition("=")
    name = key.lstrip("+")
    is_for_hydra = not equals or value[:1] in ("'", '"') or "${" in value or value in ("", "null")
    is_collection = name in _SOURCES and value[:1] in ("[", "{")
    if is_for_hydra or is_collection or name not in _text_keys():
        return word
    try:
        parsed = OverridesParser.create().parse_override(word)
    except (HydraException, ValueError, RecursionError):
        parts = value.split(",") if is_sweep else [value]
        return f"{key}={','.join(path_word('', part)[1:] for part in parts)}"
    is_meant = name in _SOURCES or (is_sweep and parsed.is_sweep_override())
    return word if is_meant or isinstance(parsed.value(), str) else path_word(key, value)


@cache
def _text_keys(config: type = RunConfig, prefix: str = "") -> frozenset[str]:
    """The dotted names of all keys that are, or may be, text."""
    found: set[str] = set() if prefix else set(_SOURCES)
    for item in dataclasses.fields(config):
        if dataclasses.is_dataclass(item.type):
            found |= _text_keys(cast(type, item.type), f"{prefix}{item.name}.")
        elif item.type in (str, "str"):
            found.add(prefix + item.name)
    return frozenset(found)


def path_word(key: str, path: Path | str) -> str:
    """A word of `train.py` with a path, whatever is in it: in quotes, `=` is a character to Hydra."""
    text = re.sub(r"(\\*)('|$)", r"\1\1\2", str(path)).replace("'", "\\'")  # backslashes count before a quote only
    return f"{key}='{text}'"


def sentence_of(error: BaseException) -> str:
    """The message that a user can act on: of the first error in the chain that names a key."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OmegaConfBaseException) and cause.full_key:
            return describe(cause)
        cause = cause.__cause__ or cause.__context__
    return " ".join(str(error).split())  # Hydra's has several lines
