"""How every command ends: an error as one sentence on stderr, and a status that scripts can rely on.

0    done
1    done, and the answer is no (`export`: the exported model differs from the original)
2    an error with a remedy: wrong input, a wrong option, a missing file, a full disk
129  SIGHUP: the terminal was closed
130  Ctrl-C
138  SIGUSR1, which batch systems send some time before the end
141  the reader of stdout is gone, as after `| head -1`
143  SIGTERM

The first signal stops the work in order: what is done is saved, and no half-written file stays. Others that come
within a second are the same wish, as a double Ctrl-C is. One that comes later ends the process at once. The end of the
command that started this one is a SIGTERM, too.
"""

import io
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from seq2seq.errors import UserError, packages_needed

ERASE_REST = "\x1b[K"  # on a terminal: erase the rest of the line
ERASE_LINE = "\r" + ERASE_REST


GRACE_S = 1.0  # seconds after the first signal in which others are ignored
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)

_PARENT = "SEQ2SEQ_PARENT"  # the variable by which a command knows the one that it ends with
_LOOK_S = 0.5  # seconds between two looks at whether that one is there

_first_signum = 0  # the signal that told the command of this process to stop; 0: none has come
_first_s = 0.0  # when it came, in seconds of `time.monotonic`
_is_watching = False  # whether a command has set the handlers
_process = 0  # the one that has


def exit_status(work: Callable[[], int | None], *, is_program: bool = False) -> int:
    """Do the work of a command, and return its status; None from `work` means 0.

    Errors without a remedy are raised, unless a signal came before: then they are a consequence of that.

    Args:
        is_program: after this work, the process only ends.
    """
    _open_stderr()
    # A locale that is not UTF-8 lacks letters; none ends a command.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    if is_program:
        end_with_parent()
    try:
        with _signals_stop_work(is_program=is_program), packages_needed():
            status = work() or 0
            if sys.stdout is not None:
                sys.stdout.flush()  # of little text, the only write: if it fails, all of it is lost
            return status
    except UserError as error:
        note(f"error: {error}")
        _tell(error)
        return 2
    except BrokenPipeError as error:  # shell tools say nothing either
        _tell(error)
        return 128 + 13
    except OSError as error:  # such as a name that is too long, or a folder that the user may not read
        note(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        _tell(error)
        return 2
    except KeyboardInterrupt as error:
        _tell(error)
        note("interrupted")
        return 128 + signal.SIGINT
    except BaseException as error:  # SIGTERM's SystemExit, or a traceback
        _tell(error)
        raise
    finally:
        _flush_stdout()


def raise_if_stopped() -> None:
    """Raise what the first signal to the command raised, once more: long work calls this now and then.

    Python swallows an exception that is raised in `__del__` or in a callback of C, and then the work would go on.

    Raises:
        KeyboardInterrupt: Ctrl-C came.
        SystemExit: another signal came that stops a command.
    """
    if not _is_watching:  # what is at work is no command, such as a notebook's code after one that was stopped
        return
    if _first_signum == signal.SIGINT:
        raise KeyboardInterrupt
    if _first_signum:
        sys.exit(128 + _first_signum)


def is_stopped() -> bool:
    """Whether a signal came that stops the command: what else goes wrong then is a consequence."""
    return _is_watching and bool(_first_signum)


def stopped_by(signum: int) -> None:
    """Say that a signal came which something else took, such as a run that saved first; further ones come after it."""
    global _first_signum, _first_s
    if _is_watching and not _first_signum:
        _first_signum, _first_s = signum, time.monotonic()


@contextmanager
def signals_held_back(signums: Iterable[int] = STOP_SIGNALS) -> Iterator[None]:
    """Start processes in this block: signals to all processes of a terminal or a job wait until they unblock them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signums)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def note(message: str, end: str = "\n") -> None:
    """Print a line to stderr, in place of a line of progress. If nobody can read it, the work goes on all the same."""
    with suppress(OSError, ValueError):  # a full disk, a closed pipe, a closed stream
        print((ERASE_LINE if sys.stderr.isatty() else "") + message, end=end, file=sys.stderr, flush=True)


def show_log(level: int = logging.INFO) -> None:
    """Let messages of the log be lines on stderr, in place of a line of progress."""
    start = ERASE_LINE if sys.stderr.isatty() else ""
    logging.basicConfig(level=level, format=f"{start}%(message)s", stream=sys.stderr)


def note_in_place(message: str) -> None:
    """Show a line on a terminal until the next `note`. It is cut, since only its last row could be erased."""
    note(message[: shutil.get_terminal_size().columns - 1], end="")


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """What tells the user on a terminal what is going on, in one line that is gone at the end; elsewhere it is mute."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    try:
        yield note_in_place
    finally:
        note("", end="")


def tell_at_end(error: BaseException, message: str) -> None:
    """Let `exit_status` print a line with `error`, such as what is kept of the work and how to go on."""
    _messages(error).append(message)


def _tell(error: BaseException | None) -> None:
    while error is not None:  # one that a signal raised may stand in front of the one with the messages
        for message in _messages(error):
            note(message)
        error = error.__context__


def _messages(error: BaseException) -> list[str]:
    messages: list[str] = vars(error).setdefault("_seq2seq_messages", [])
    return messages


def _open_stderr() -> None:
    """Send messages nowhere if stderr is closed (`2>&-`). Else the next file that is opened would get them."""
    if sys.stderr is not None:
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(null, 2)
    sys.stderr = os.fdopen(null, "w")


@contextmanager
def _signals_stop_work(*, is_program: bool) -> Iterator[None]:
    """Let the first signal raise an exception, so that finished work is saved and no half-written file stays.

    A signal that comes while Python ends must not print a traceback. So if one came before, the handlers stay for the
    rest of the process. If none came, the next one ends a program without a word, and all others get the handlers of
    before back.
    """
    global _first_signum, _is_watching, _process
    if _is_watching or threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    # Whoever started this process may have told it to ignore some, as `nohup` does.
    before = {
        signum: handler
        for signum in STOP_SIGNALS
        if (handler := signal.getsignal(signum)) not in (signal.SIG_IGN, None)
    }
    _first_signum, _is_watching, _process = 0, True, os.getpid()
    hook = sys.unraisablehook
    try:
        sys.unraisablehook = partial(_tell_unraisable, hook)
        for signum in before:
            signal.signal(signum, _on_signal)
        try:
            yield
        except (UserError, OSError):
            raise
        except BaseException as error:
            if getattr(error, "code", None) != 128 + _first_signum:
                raise_if_stopped()
            raise
        raise_if_stopped()
    finally:
        _is_watching = False
        if not _first_signum:
            sys.unraisablehook = hook
            for signum, handler in before.items():
                signal.signal(signum, signal.SIG_DFL if is_program else handler)


def _tell_unraisable(hook: Callable[["sys.UnraisableHookArgs"], object], lost: "sys.UnraisableHookArgs") -> None:
    """Say nothing about the exception of a signal that came in `__del__` or a callback: it is raised once more."""
    if not _first_signum or not isinstance(lost.exc_value, KeyboardInterrupt | SystemExit):
        hook(lost)


def _on_signal(signum: int, frame: FrameType | None) -> None:
    global _first_signum, _first_s
    if os.getpid() != _process:  # one that the command forked ends as if it had no handler
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
    elif not _first_signum:
        _first_signum, _first_s = signum, time.monotonic()
        raise_if_stopped()
    elif time.monotonic() - _first_s > GRACE_S:
        os._exit(128 + _first_signum)


def stdin() -> BinaryIO:
    """
    Raises:
        UserError: whoever started this command has closed it, as `<&-` does.
    """
    if sys.stdin is None:
        raise UserError("stdin is closed; open it or give a file")
    return sys.stdin.buffer


def stdout() -> BinaryIO:
    """
    Raises:
        UserError: whoever started this command has closed it, as `>&-` does.
    """
    if sys.stdout is None:
        raise UserError("stdout is closed; open it or give a file")
    return sys.stdout.buffer


def for_children(are_launched: bool = False) -> dict[str, str]:
    """Variables for a command of ours in a process of its own, which ends with this one.

    Args:
        are_launched: another program starts it, and ends it.
    """
    # A clone need not be installed. The present folder comes last, since it may have a package of our name.
    places = filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"), str(Path.cwd())])
    parent = {_PARENT: str(0 if are_launched else os.getpid())}
    return parent | {"PYTHONPATH": os.pathsep.join(places), "PYTHONSAFEPATH": "1"}


def end_with_parent() -> None:
    """In a process that was started by `for_children`, take the end of its parent for SIGTERM."""
    if parent := int(os.environ.pop(_PARENT, 0)):  # those that this one starts have another parent
        watch_parent(parent, lambda: os.kill(os.getpid(), signal.SIGTERM))


def watch_parent(parent: int, end: Callable[[], object]) -> None:
    """Call `end`, from a thread, when the parent of this process is gone: if that was killed, nobody else would."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        end()

    threading.Thread(target=watch, daemon=True).start()


def _flush_stdout() -> None:
    """Flush stdout. If nobody reads it, keep Python from trying again at its exit, and from complaining."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
