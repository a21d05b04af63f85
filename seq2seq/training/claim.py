"""A run has its directory alone, as long as it is at work."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from seq2seq.artifacts.identity import RunIdentity, SweepPlace
from seq2seq.artifacts.lease import LeaseTakenError, leased
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import ConfigError
from seq2seq.training.directories import cannot_be_made


@contextmanager
def claimed(run: RunDirectory, *, resumes: bool, sweep: SweepPlace | None = None) -> Iterator[RunIdentity]:
    """Make the directory of a run, and have it alone in this block. If nothing comes of the run, it goes again.

    Args:
        resumes: whether the run is there already; it keeps its identity.
        sweep: the place of a new run.
    Raises:
        ConfigError: another process trains there, it holds a run that could be continued, or it cannot be made.
    """
    try:
        run.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_be_made(run.path, error) from error
    try:
        with leased(run.lease_file):
            if run.has_checkpoints and not resumes:
                raise ConfigError(
                    f"run_dir={run.path} holds a run already; continue it with resume={run.path}, "
                    "or name another run_dir"
                )
            try:
                identity = (run.identity() if resumes else None) or RunIdentity.new(sweep)
                run.write_identity(identity)
                yield identity
            finally:
                with suppress(OSError):  # such as a disk that went read-only: another error is more important
                    run.withdraw()
    except LeaseTakenError as taken:
        remedy = "wait for its end, or stop it" if resumes else "name another run_dir"
        raise ConfigError(f"{run.path} belongs to a run that is at work, {taken.holder}; {remedy}") from taken
