"""The words of a command of `train.py`, and what Hydra made of them.

It is quick to import, since help and typing errors need no more.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config.read import describe

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
