"""The name of a run, by which a person tells it from others."""

from collections.abc import Sequence
from datetime import datetime

from seq2seq.config import RunConfig
from seq2seq.config.on_resume import RUNTIME, mark_of
from seq2seq.masking import masked_words

_LONGEST = 80  # characters of what differs; W&B shows fewer, and takes 128 in all


def run_name(experiment: str, overrides: Sequence[str], started: datetime) -> str:
    """The experiment, what the command changes of it, and when:  demo optim.lr=2e-3 seed=2 (11-24 10:16)

    Keys that decide nothing, such as paths and loggers, are left out.

    Args:
        overrides: the words of the command that set keys.
    """
    words = [word.lstrip("+") for word in masked_words(overrides)]
    differs = " ".join(word for word in words if _decides(word.partition("=")[0]))
    if len(differs) > _LONGEST:
        differs = f"{differs[: _LONGEST - 3]}..."
    return " ".join(part for part in (experiment, differs, f"({started:%m-%d %H:%M})") if part)


def _decides(key: str) -> bool:
    """Whether a key, or a group of keys, has a say in what the run computes, and is not told already."""
    return not key.startswith(("experiment", "hydra")) and mark_of(RunConfig, key).on_resume != RUNTIME
