"""One run of a command or a program: it begins or goes on, in as many processes as it asks for; its end is told."""

import contextlib
import errno
import signal
import sys
from collections.abc import Iterator, Sequence
from multiprocessing import current_process
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.artifacts.checkpoint import Checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.artifacts.wandb_access import wandb_mode
from seq2seq.config import LoggerConfig, RunConfig
from seq2seq.config.command import Composed, path_word
from seq2seq.errors import ConfigError, RunError, UserError, command
from seq2seq.exit_status import note
from seq2seq.training.composed import check_place, run_of
from seq2seq.training.processes import StoppedAtOnce, TrainingInterrupted, quick_imports, start_processes

if TYPE_CHECKING:  # takes seconds to import, and a key that cannot be should not wait for it
    import pytorch_lightning as pl

    from seq2seq.training.ranks import Ranks
    from seq2seq.training.selection import Outcome

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
        if job.cfg.hours:
            job, words = _with_recipe(job, words, ranks.world_size if ranks else 0)
        config, checkpoint = run_of(job)
        with _leaving_nothing(config):
            check_environment(config.logger)
            with quick_imports():
                from seq2seq.training.trainer import n_ranks, set_up_machine
            n = n_ranks(config.trainer, set_up_machine(config.trainer)) if ranks is None else 1
            if n > 1:
                _start(n, config, job, words)
            else:
                _train(config, checkpoint, ranks)
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

    try:
        with leaving_group(), ranks.ending_together():
            train_as_told(ranks)
    except TrainingInterrupted:  # all have agreed to stop, and the first one ends with the status of the signal
        return
    except (KeyboardInterrupt, StoppedAtOnce):
        sys.exit(128 + signal.SIGINT)
    except UserError:  # the first one has said it
        sys.exit(2)


def _start(n: int, config: RunConfig, job: Composed, words: Sequence[str]) -> None:
    if config.trainer.n_nodes > 1:
        raise ConfigError(
            f"trainer.n_nodes={config.trainer.n_nodes} needs something that starts processes on each machine; run this "
            "command with torchrun or srun, or leave trainer.n_nodes out"
        )
    if not config.trainer.devices:
        note(f"{n} GPUs train together, each with batch.max_tokens in a step; trainer.devices=1 takes one of them")
    run = RunDirectory(Path(config.run_dir))
    place = [] if job.cfg.resume else [path_word("run_dir", run.path)]  # otherwise they would look at the clock again
    again = "start the run again"
    start_processes(n, [*words, *place], lambda: _going_on(config) if run.has_checkpoints else again)


def _train(config: RunConfig, checkpoint: Checkpoint | None, ranks: "Ranks | None") -> None:
    with quick_imports():
        from seq2seq.training.ranks import leaving_group
        from seq2seq.training.run import train

    run = RunDirectory(Path(config.run_dir))
    try:
        with _ending(run, _going_on(config)), leaving_group():
            train(config, checkpoint, ranks=ranks)
    except _Stopped as stopped:
        note(str(stopped))
        sys.exit(128 + stopped.signum)


def train_in_process(
    words: Sequence[str], config_dir: str | Path | None, callbacks: "Sequence[pl.Callback]"
) -> "Outcome":
    """Do a run in the process of a program or a notebook; see `seq2seq.train`."""
    from seq2seq.config.compose import composed

    if getattr(current_process(), "_inheriting", False):  # as multiprocessing itself asks
        raise ConfigError(
            "processes that prepare text import this program, and it trains as it is imported; put what it does below "
            "if __name__ == '__main__':"
        )
    from seq2seq.training.trainer import restored_process

    with restored_process():
        with composed(words, config_dir) as job:
            if job.cfg.hours:
                job, _ = _with_recipe(job, words, 1)
            config, checkpoint = run_of(job)
        return _train_here(config, checkpoint, words, callbacks)


def _train_here(
    config: RunConfig, checkpoint: Checkpoint | None, words: Sequence[str], callbacks: "Sequence[pl.Callback]"
) -> "Outcome":
    from seq2seq.training.ranks import leaving_group
    from seq2seq.training.run import train
    from seq2seq.training.trainer import check_callbacks, n_ranks, set_up_machine

    run = RunDirectory(Path(config.run_dir))
    going_on = f"go on with seq2seq.train({_resuming(config)!r})"
    try:
        with _leaving_nothing(config), _ending(run, going_on), leaving_group():
            check_environment(config.logger)
            check_callbacks(callbacks)
            if (n := n_ranks(config.trainer, set_up_machine(config.trainer))) > 1:
                raise ConfigError(
                    f"trainer.devices={config.trainer.devices} takes {n} processes, and a program is only one; set "
                    "trainer.devices=1, or give the words to train.py"
                )
            return train(config, checkpoint, callbacks, words=["seq2seq.train", *words])
    except _Stopped as stopped:
        # `except Exception` of a program does not take a Ctrl-C, or the stop button of a notebook, for an error.
        if stopped.signum == signal.SIGINT:
            raise KeyboardInterrupt(str(stopped)) from None
        raise RunError(f"{signal.Signals(stopped.signum).name}: {stopped}") from None


def _with_recipe(job: Composed, words: Sequence[str], n_processes: int) -> tuple[Composed, list[str]]:
    check_place(job)
    with quick_imports():
        from seq2seq.training.recipe import with_recipe

    return with_recipe(job, words, n_processes)


class _Stopped(Exception):
    """A run was told to stop; `signum` says by what."""

    def __init__(self, message: str, signum: int) -> None:
        super().__init__(message)
        self.signum = signum


@contextlib.contextmanager
def _ending(run: RunDirectory, going_on: str) -> Iterator[None]:
    """In this block, a run that is stopped, and what the machine does to it, say how to go on.

    Raises:
        _Stopped: somebody told it to stop.
        UserError: the disk is full, or memory ran out.
    """
    try:
        yield
    except TrainingInterrupted as told:
        raise _Stopped(f"stopped and saved; {going_on}", told.signum) from None
    except (KeyboardInterrupt, StoppedAtOnce, SystemExit) as error:
        signum: int = signal.SIGINT
        # Where there was nothing to save: while text is prepared, in the selection, in a test. Of a Ctrl-C before the
        # first step, Lightning makes its own exit.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, KeyboardInterrupt):
            if not isinstance(error.code, int) or error.code <= 128:
                raise
            signum = error.code - 128
        saved = going_on if run.has_checkpoints else "nothing was saved yet"
        raise _Stopped(f"stopped at once; {saved}", signum) from None
    except (RuntimeError, ConnectionError) as error:  # torch raises it wherever the run just is
        if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
            raise
        raise RunError(
            "a process that makes batches was killed, most likely because memory ran out; batch.n_workers=0 needs "
            f"none; {going_on if run.has_checkpoints else 'start the run again'}"
        ) from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"make room, then {going_on}" if run.has_checkpoints else "make room, or name another run_dir"
        raise RunError(f"run_dir={run.path} cannot be written to ({error.strerror}); {remedy}") from error


@contextlib.contextmanager
def _leaving_nothing(config: RunConfig) -> Iterator[None]:
    """At the end of the block, remove the directory of a run that was refused: only then is it empty."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            Path(config.run_dir).rmdir()


def _going_on(config: RunConfig) -> str:
    return f"continue with: {command('train', *_resuming(config))}"


def _resuming(config: RunConfig) -> list[str]:
    """The words that go on with a run. They name its plugins, since a stored name imports nothing."""
    plugins = [f"plugins=[{','.join(config.plugins)}]"] if config.plugins else []
    return [f"resume={config.run_dir}", *plugins]


def _leave_reason(job: Composed, error: Exception) -> None:
    run_dir = job.run_dir
    with contextlib.suppress(OSError):  # the error itself is more important
        if sweep := SweepDirectory.of_run(run_dir):
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            sweep.write_error(run_dir.name, reason)


def check_environment(config: LoggerConfig) -> None:
    """
    Raises:
        ConfigError: the run would need a package that is not installed, or the environment has no mode of W&B.
    """
    if config.wandb:
        wandb_mode(config)
    if not config.tensorboard:
        return
    try:
        import tensorboard  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigError(
            "logger.tensorboard=true needs the package tensorboard; run, in a clone of seq2seq: "
            "pip install -e '.[tensorboard]'"
        ) from error
