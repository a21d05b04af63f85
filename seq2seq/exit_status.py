"""How every command ends: an error as one sentence on stderr, and a status that scripts can rely on.

0    done
1    done, and the answer is no (`export`: what was exported is not the same model)
2    an error that has a remedy: wrong input, a wrong option, a file or a machine that does not play along
130  Ctrl-C
141  the reader of stdout is gone, as `| head -1` leaves it
143  SIGTERM
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from seq2seq.errors import UserError

ERASE_REST = "\x1b[K"  # on a terminal: erase what stands in the line after this
ERASE_LINE = "\r" + ERASE_REST


def exit_status(work: Callable[[], int | None]) -> int:
    """Do the work of a command; its status, None meaning 0. What is no error of the user's, is raised."""
    try:
        with _sigterm_raises_exit():
            return work() or 0
    except UserError as error:
        note(f"error: {error}")
        return 2
    except BrokenPipeError:  # shell tools say nothing either
        return 128 + 13
    except OSError as error:  # such as a name that is too long, or a folder that one may not look into
        note(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return 2
    except KeyboardInterrupt:
        note("interrupted")
        return 128 + signal.SIGINT
    finally:
        _flush_stdout()


def note(message: str) -> None:
    """A line on stderr, where a line of progress may stand."""
    print((ERASE_LINE if sys.stderr.isatty() else "") + message, file=sys.stderr)


@contextmanager
def _sigterm_raises_exit() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that what is done is brought to disk and nothing half-written stays."""
    if threading.current_thread() is not threading.main_thread():  # where Python allows no handlers
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> NoReturn:
        sys.exit(128 + signum)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _flush_stdout() -> None:
    """Flush what stdout still takes; otherwise keep Python from trying, and complaining, at its exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
