"""Errors that a user can repair: commands print them without a traceback.

A message says what is wrong, where (file, line, config key) and what to do. If there are several problems, each is a
line that says all of this.
"""


class UserError(Exception):
    """Base of every error that a user can repair."""

    @property
    def problems(self) -> list[str]:
        """The lines of the message."""
        return str(self).split("\n")


class ConfigError(UserError):
    """A configuration key or value that cannot work."""


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
