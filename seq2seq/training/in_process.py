"""One run in the process of a program or a notebook, with its errors as that program can use them."""

import errno
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config.compose import composed
from seq2seq.errors import ConfigError, RunError
from seq2seq.training.composed import run_of
from seq2seq.training.start_up import check_environment

if TYPE_CHECKING:  # a mistyped key does not wait for them
    import pytorch_lightning as pl

    from seq2seq.training.selection import Outcome

# Why writing can fail: no space, a quota, a limit for the size of files, a disk that went read-only.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def train_in_process(
    words: Sequence[str], config_dir: str | Path | None, callbacks: "Sequence[pl.Callback]"
) -> "Outcome":
    """Do a new run, or the rest of an interrupted one; see `seq2seq.train`."""
    with composed(words, config_dir) as job:
        config, place, checkpoint = run_of(job)
    check_environment(config.logger)

    from seq2seq.training.ranks import leaving_group
    from seq2seq.training.run import train
    from seq2seq.training.trainer import n_ranks, set_up_machine

    if (n := n_ranks(config.trainer, set_up_machine(config.trainer))) > 1:
        raise ConfigError(
            f"trainer.devices={config.trainer.devices} takes {n} processes, and a program is only one; set "
            "trainer.devices=1, or give the words to train.py"
        )
    with telling_how_it_ended(RunDirectory(Path(config.run_dir))), leaving_group():
        return train(config, checkpoint, callbacks, sweep=place)


@contextmanager
def telling_how_it_ended(run: RunDirectory) -> Iterator[None]:
    """In this block, a run that is stopped, and what the machine does to it, say how to go on.

    Raises:
        KeyboardInterrupt: Ctrl-C, or a notebook's stop button; `except Exception` does not take it for an error.
        RunError: another signal stopped it, the disk is full, or memory ran out.
    """
    from seq2seq.training.stop_signals import StoppedAtOnce, TrainingInterrupted

    resume = f"go on with seq2seq.train([{f'resume={run.path}'!r}])"
    try:
        yield
    except TrainingInterrupted as told:
        if told.signum == signal.SIGINT:
            raise KeyboardInterrupt(f"stopped and saved; {resume}") from None
        raise RunError(f"stopped by {told} and saved; {resume}") from None
    except (KeyboardInterrupt, StoppedAtOnce, SystemExit) as error:
        # Lightning exits if it is interrupted before the first step.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, KeyboardInterrupt):
            raise
        saved = resume if run.has_checkpoints else "nothing was saved yet"
        raise KeyboardInterrupt(f"stopped at once; {saved}") from None
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):  # torch raises it wherever the run just is
            raise
        raise RunError(
            "a process that makes batches was killed, most likely because memory ran out; batch.n_workers=0 needs "
            f"none; {resume if run.has_checkpoints else 'start the run again'}"
        ) from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"make room, then {resume}" if run.has_checkpoints else "make room, or name another run_dir"
        raise RunError(f"run_dir={run.path} cannot be written to ({error.strerror}); {remedy}") from error
    finally:
        with suppress(OSError):  # it is empty only if the run was refused; rmdir leaves any other
            run.path.rmdir()
