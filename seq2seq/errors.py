"""Errors that a user can repair: commands print them without a traceback.

A message says what is wrong, where (file, line, config key) and what to do. If there are several problems, each is a
line that says all of this.
"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seq2seq.masking import masked


def command(name: str, *words: object) -> str:
    """A command of this project that the user can paste into a shell.

    It is `python train.py WORDS` in a clone, `python -m seq2seq train WORDS` in a folder elsewhere, and `seq2seq train
    WORDS` where there is no clone.
    """
    script = Path(__file__).parents[1] / f"{name}.py"
    if not script.with_name("train.py").is_file():
        program = f"seq2seq {name}"
    elif script.is_file() and Path(script.name).is_file() and script.samefile(script.name):
        program = f"python {name}.py"
    else:
        program = f"python -m seq2seq {name}"
    return " ".join([program, *(shlex.quote(str(word)) for word in words)])


def printable(text: str) -> str:
    """The text with `\\x1b` and the like for what is no character to print: a server or a file may have written it."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class UserError(Exception):
    """Base of every error that a user can repair. What the message quotes is in it without secrets, and printable."""

    def __init__(self, message: str) -> None:
        super().__init__(masked("\n".join(map(printable, message.split("\n")))))

    @property
    def problems(self) -> list[str]:
        """The lines of the message."""
        return str(self).split("\n")


class ConfigError(UserError):
    """A configuration key or value that cannot work."""


class PluginError(UserError):
    """A plugin that is missing, or cannot be imported."""


class CorpusError(UserError):
    """Parallel text that is missing, unreadable or not parallel."""


class TokenizerError(UserError):
    """A tokenizer that cannot be trained, or that does not fit the ids or weights that it is used with."""


class CheckpointError(UserError):
    """A checkpoint or a model directory that is missing, damaged, or not from this project."""


class RunError(UserError):
    """A directory that is not a run directory, or not a whole one; or a run that cannot go on."""


class TranslationError(UserError):
    """Input or output of a translation that cannot be read, written or translated."""


@contextmanager
def packages_needed() -> Iterator[None]:
    """Let code that needs a package which is not there say how to install it: the extra `train` is not everywhere.

    Raises:
        ConfigError: a package is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in ("", "seq2seq"):
            raise
        if name.startswith("_"):  # a part of Python itself, such as _lzma
            raise ConfigError(f"this Python was built without {name}; take another one") from error
        raise ConfigError(
            f"the package {name} is not installed; switch on the environment that has it (. .venv/bin/activate), or "
            "install it, in a clone of seq2seq: pip install -e '.[train]'"
        ) from error
