"""The directories that runs and sweeps are given: one that nobody else has."""

from itertools import count
from pathlib import Path

from seq2seq.errors import ConfigError


def fresh_directory(path: Path) -> Path:
    """Make a directory that nobody else has: `path`, or `path-2`, `path-3`, ..., if others were faster.

    Raises:
        ConfigError: it cannot be made.
    """
    for number in count(1):
        attempt = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            attempt.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_be_made(attempt, error) from error
        return attempt
    raise AssertionError("numbers do not end")


def cannot_be_made(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"run_dir={path} cannot be made ({error.strerror}); name another run_dir")
