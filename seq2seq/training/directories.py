"""The directories that runs are given: one that nobody else has, and one for each job of a sweep."""

from itertools import count
from pathlib import Path

from seq2seq.artifacts.identity import SweepPlace
from seq2seq.errors import ConfigError


class Sweep:
    """The jobs of one command: they share a directory, which is their group in W&B, and each has a folder in it."""

    def __init__(self) -> None:
        self._directory: Path | None = None

    def directory_of(self, job: int, run_dir: Path, *, is_named: bool) -> tuple[Path, SweepPlace]:
        """The directory of a job and its place in the sweep.

        Args:
            job: its number, from 0.
            run_dir: the directory that its configuration names.
            is_named: whether the user named it. Otherwise its name has the time, which later jobs read off a clock
                that has gone on: all are put where the first one is.
        """
        if not is_named:
            run_dir = self._directory = self._directory or fresh_directory(run_dir)
        return run_dir / f"{job:03d}", SweepPlace(run_dir.name, job)


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
