"""A process of a run that is not its first: it does what it is told."""

import signal
import sys

from seq2seq.errors import UserError
from seq2seq.training.ranks import Ranks
from seq2seq.training.run import train_as_told
from seq2seq.training.stop_signals import StoppedAtOnce, TrainingInterrupted


def follow(ranks: Ranks) -> None:
    """Do all jobs that the first process tells. That one speaks for all; this one is silent, unless a bug ends it.

    Raises:
        SystemExit: the jobs did not come to their end.
    """
    try:
        train_as_told(ranks)
    except TrainingInterrupted:  # all have agreed to stop, and the first one ends with the status of the signal
        return
    except (KeyboardInterrupt, StoppedAtOnce):
        sys.exit(128 + signal.SIGINT)
    except UserError as error:
        ranks.fail(str(error))
        sys.exit(2)
    except Exception as error:
        if _is_over(ranks):  # torch noticed that before we did
            sys.exit(2)
        ranks.fail(f"process {ranks.rank} of this run failed [{type(error).__name__}]; what it printed says more")
        raise


def _is_over(ranks: Ranks) -> bool:
    """Whether another process has ended the run."""
    try:
        return ranks.error() is not None
    except RuntimeError:  # the first process is gone, and the store with it
        return True
