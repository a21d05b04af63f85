"""One run of a command: it begins or goes on, in as many processes as it asks for, and its end is told."""

import contextlib
import errno
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.config.command import Composed, path_word
from seq2seq.errors import ConfigError, RunError, UserError, command
from seq2seq.exit_status import note
from seq2seq.training.composed import run_of
from seq2seq.training.start_up import check_environment, quick_imports

if TYPE_CHECKING:  # takes seconds to import, and a mistyped key should not wait for it
    from seq2seq.artifacts.checkpoint import Checkpoint
    from seq2seq.artifacts.identity import SweepPlace
    from seq2seq.config import RunConfig
    from seq2seq.training.ranks import Ranks

# Why writing can fail: no space, a quota, a limit for the size of files, a disk that went read-only.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def launch(job: Composed, words: Sequence[str], ranks: "Ranks | None") -> None:
    """Do a fresh run, or the rest of an interrupted one. If it is part of a sweep and fails, the reason is left there.

    Args:
        words: of the command, for further processes.
        ranks: all processes, if somebody has started them; otherwise this run starts its own.
    Raises:
        UserError: it cannot begin, or not go on.
        SystemExit: it was stopped.
    """
    try:
        config, place, checkpoint = run_of(job)
        check_environment(config.logger)
        with quick_imports():
            from seq2seq.training.trainer import n_ranks, set_up_machine
        n = n_ranks(config.trainer, set_up_machine(config.trainer)) if ranks is None else 1
        if n > 1:
            _start(n, config, job, words)
        else:
            _train(config, place, checkpoint, ranks)
    except Exception as error:
        _leave_reason(job, error)
        raise


def follow(ranks: "Ranks") -> None:
    """Do the run that the first process tells. That one speaks for all; this one is silent, unless a bug ends it.

    Raises:
        SystemExit: the run did not come to its end.
    """
    from seq2seq.training.ranks import leaving_group
    from seq2seq.training.run import train_as_told
    from seq2seq.training.stop_signals import StoppedAtOnce, TrainingInterrupted

    try:
        with leaving_group(), ranks.ending_together():
            train_as_told(ranks)
    except TrainingInterrupted:  # all have agreed to stop, and the first one ends with the status of the signal
        return
    except (KeyboardInterrupt, StoppedAtOnce):
        sys.exit(128 + signal.SIGINT)
    except UserError:  # the first one has said it
        sys.exit(2)


def _start(n: int, config: "RunConfig", job: Composed, words: Sequence[str]) -> None:
    from seq2seq.training.processes import start_processes

    if config.trainer.n_nodes > 1:
        raise ConfigError(
            f"trainer.n_nodes={config.trainer.n_nodes} needs something that starts processes on each machine; run this "
            "command with torchrun or srun, or leave trainer.n_nodes out"
        )
    run = RunDirectory(Path(config.run_dir))
    place = [] if job.cfg.resume else [path_word("run_dir", run.path)]  # otherwise they would look at the clock again
    with _leaving_nothing(run):
        start_processes(n, [*words, *place], lambda: _going_on(run) if run.has_checkpoints else "start the run again")


def _train(
    config: "RunConfig", place: "SweepPlace | None", checkpoint: "Checkpoint | None", ranks: "Ranks | None"
) -> None:
    with quick_imports():
        from seq2seq.training.ranks import leaving_group
        from seq2seq.training.run import train
        from seq2seq.training.stop_signals import StoppedAtOnce, TrainingInterrupted

    run = RunDirectory(Path(config.run_dir))
    try:
        with _leaving_nothing(run), leaving_group():
            train(config, checkpoint, sweep=place, ranks=ranks)
    except TrainingInterrupted as interrupted:
        note(f"stopped and saved; {_going_on(run)}")
        sys.exit(128 + interrupted.signum)
    except (KeyboardInterrupt, StoppedAtOnce):
        note(f"stopped at once; {_going_on(run) if run.has_checkpoints else 'nothing was saved yet'}")
        sys.exit(128 + signal.SIGINT)
    except SystemExit:  # a signal where there was nothing to save: while text is prepared, in the selection, in a test
        note(f"stopped at once; {_going_on(run) if run.has_checkpoints else 'nothing was saved yet'}")
        raise
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):  # torch raises it wherever the run just is
            raise
        remedy = _going_on(run) if run.has_checkpoints else "start the run again"
        raise RunError(
            "a process that makes batches was killed, most likely because memory ran out; batch.n_workers=0 needs "
            f"none; {remedy}"
        ) from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"make room, then {_going_on(run)}" if run.has_checkpoints else "make room, or name another run_dir"
        raise UserError(f"run_dir={run.path} cannot be written to ({error.strerror}); {remedy}") from error


@contextlib.contextmanager
def _leaving_nothing(run: RunDirectory) -> Iterator[None]:
    """At the end of the block, remove the directory of a run that was refused: only then is it empty."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            run.path.rmdir()


def _going_on(run: RunDirectory) -> str:
    return f"continue with: {command('train', f'resume={run.path}')}"


def _leave_reason(job: Composed, error: Exception) -> None:
    run_dir = job.run_dir
    with contextlib.suppress(OSError):  # the error itself is more important
        if sweep := SweepDirectory.of_run(run_dir):
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            sweep.write_error(run_dir.name, reason)
