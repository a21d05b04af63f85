"""What a user, a file or a machine can get wrong: entry points print these without a traceback.

A message says what is wrong, where (file, line, config key) and what to do.
"""


class UserError(Exception):
    """Base of every error that has a remedy on the user's side."""


class ConfigError(UserError):
    """A configuration key or value that cannot work."""


class CorpusError(UserError):
    """Parallel text that is missing, unreadable or not parallel."""


class TokenizerError(UserError):
    """A tokenizer that cannot be trained, or that does not belong to the ids or weights it meets."""


class CheckpointError(UserError):
    """A file that is not a checkpoint, not a whole one, or not one of this project's."""


class RunError(UserError):
    """A directory that is not that of a run, or not a whole one."""


class TranslationError(UserError):
    """Input or output of a translation that cannot be read, written or translated."""
