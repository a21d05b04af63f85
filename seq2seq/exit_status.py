"""How every command ends: an error as one sentence on stderr, and a status that scripts can rely on.

0    done
1    done, and the answer is no (`export`: the exported model differs from the original)
2    an error with a remedy: wrong input, a wrong option, a missing file, a full disk
130  Ctrl-C
141  the reader of stdout is gone, as after `| head -1`
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

ERASE_REST = "\x1b[K"  # on a terminal: erase the rest of the line
ERASE_LINE = "\r" + ERASE_REST


def exit_status(work: Callable[[], int | None]) -> int:
    """Do the work of a command, and return its status; None from `work` means 0. Errors without a remedy are raised."""
    try:
        with _sigterm_raises_exit():
            return work() or 0
    except UserError as error:
        note(f"error: {error}")
        return 2
    except BrokenPipeError:  # shell tools say nothing either
        return 128 + 13
    except OSError as error:  # such as a name that is too long, or a folder that the user may not read
        note(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return 2
    except KeyboardInterrupt:
        note("interrupted")
        return 128 + signal.SIGINT
    finally:
        _flush_stdout()


def note(message: str) -> None:
    """Print a line to stderr, in place of a line of progress."""
    print((ERASE_LINE if sys.stderr.isatty() else "") + message, file=sys.stderr)


@contextmanager
def _sigterm_raises_exit() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, so that finished work is saved and no half-written file stays."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
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
    """Flush stdout. If nobody reads it, keep Python from trying again at its exit, and from complaining."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
