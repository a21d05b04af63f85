"""The words of a command of `train.py`, and what Hydra made of them.

It is quick to import, since help and typing errors need no more.
"""

import dataclasses
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config.read import describe
from seq2seq.config.run import RunConfig

PATHS = ("run_dir", "resume", "finetune")  # the keys that name a directory
AUTO = "auto"  # resume=auto: continue if there is something to continue from, else start


@dataclass(frozen=True)
class Composed:
    """What Hydra made of the words of a command, for one run."""

    cfg: DictConfig
    overrides: list[str]  # the words that set keys or choose presets
    is_job: bool  # of a sweep

    @property
    def run_dir(self) -> Path:
        """Of the run that begins or goes on."""
        return Path(self.cfg.run_dir if self.cfg.resume in ("", AUTO) else self.cfg.resume)


def readable(word: str, *, is_sweep: bool) -> str:
    """A word for Hydra, whose grammar gives a meaning to many characters and knows ASCII alone.

    The value of a key that is text is any text, as a shell has handed it on: it is put into quotes if Hydra would
    refuse it, or take it for something else. Quotes, `${...}` and null mean to Hydra what they always do, and so does,
    in a sweep, a comma.
    """
    key, equals, value = word.partition("=")
    if not equals or key.lstrip("+") not in _text_keys() or value[:1] in ("'", '"') or value in ("", "null"):
        return word
    if "${" in value or _is_text(word):
        return word
    if is_sweep and (_is_read(word) or "," in value):
        return word if _is_read(word) else f"{key}={','.join(path_word('', each)[1:] for each in value.split(','))}"
    return path_word(key, value)


@cache
def _text_keys(config: type = RunConfig, prefix: str = "") -> frozenset[str]:
    """The dotted names of all keys that are text. Those of the text itself may be text, too."""
    found: set[str] = set() if prefix else {"data.train", "data.valid"}
    for item in dataclasses.fields(config):
        if dataclasses.is_dataclass(item.type):
            found |= _text_keys(cast(type, item.type), f"{prefix}{item.name}.")
        elif item.type in (str, "str"):
            found.add(prefix + item.name)
    return frozenset(found)


def _parsed(word: str) -> Any:
    """What Hydra reads; None if it refuses the word."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        return OverridesParser.create().parse_override(word)
    except (HydraException, ValueError, RecursionError):
        return None


def _is_read(word: str) -> bool:
    return _parsed(word) is not None


def _is_text(word: str) -> bool:
    """Whether Hydra takes the value for text."""
    parsed = _parsed(word)
    key = word.partition("=")[0].lstrip("+")
    is_list_too = key in ("data.train", "data.valid") and parsed is not None
    return parsed is not None and not parsed.is_sweep_override() and (is_list_too or isinstance(parsed.value(), str))


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
