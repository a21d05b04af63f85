"""A process, forked from this one, that answers messages (docs/decisions/0008-forked-workers.md).

It has one connection to its parent, which tells each side when the other is gone. It is a plain process: signals end
it, at once and without a word, and only the parent reports.
"""

import fcntl
import gc
import os
import pickle
import signal
import socket
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from seq2seq.errors import TranslationError
from seq2seq.exit_status import watch_parent
from seq2seq.memory import offer_to_be_killed_first

# Python has handlers for the first and ignores the last; the command line has handlers for the others.
_PLAIN_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


class Forked:
    """A child process as its parent sees it."""

    def __init__(self, prepare: Callable[[], object], answer: Callable[..., Any]) -> None:
        """Fork it, which is safe only before this process has threads that hold locks.

        Args:
            prepare: called in the child first.
            answer: called in the child with the arguments of each `ask`.
        Raises:
            OSError: there is no memory for one more, or there are too many processes.
        """
        ours, theirs = socket.socketpair()
        self._parent = os.getpid()
        # No signal may come before both sides know what to do about it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            if (process := os.fork()) == 0:
                _serve(prepare, answer, theirs, self._parent, mask)
            self._process = process
            self._connection = Connection(ours.detach())
        finally:
            theirs.close()
            ours.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def ask(self, *arguments: Any) -> Any:
        """The answer to these arguments, or its error.

        Raises:
            EOFError, OSError: the process has ended.
        """
        self._connection.send_bytes(pickle.dumps(arguments))
        answer, error, trace = pickle.loads(self._connection.recv_bytes())
        if error is not None:
            raise error from _InWorker(trace)
        return answer

    def is_dead(self) -> bool:
        """Whether it has ended, when it is asked nothing: then only its end can be read from the connection."""
        try:
            return self._connection.poll()
        except OSError:
            return True

    def kill(self) -> None:
        """End it now. It may be called more than once, also while another thread waits for an answer."""
        if os.getpid() == self._parent:  # else this is a copy in a process that something else forked
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)

    def signal_that_ended(self) -> int:
        """Wait for its end; 0 if it ended by itself, or if nobody knows."""
        self._connection.close()
        try:
            _, status = os.waitpid(self._process, 0)
        except ChildProcessError:  # SIGCHLD is ignored here, or somebody else has asked
            return 0
        return max(0, -os.waitstatus_to_exitcode(status))


class _InWorker(Exception):
    """Where in a worker process an error was raised, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _serve(
    prepare: Callable[[], object],
    answer: Callable[..., Any],
    theirs: socket.socket,
    parent: int,
    mask: set[int | signal.Signals],
) -> NoReturn:
    """Answer until the parent is gone. Nothing of this process is flushed or freed at its end."""
    try:
        connection = _leave_all_but(theirs)
        _take_plain_signals(mask)
        gc.freeze()  # never collect what the parent left: to free it may mean to wait for threads that are not here
        watch_parent(parent, lambda: os._exit(1))  # one that is not at work sees the end of the connection before
        offer_to_be_killed_first()
        prepare()
        while True:
            arguments = pickle.loads(connection.recv_bytes())
            try:
                message = pickle.dumps((answer(*arguments), None, ""))
            except Exception as error:
                message = _failure(error)
            connection.send_bytes(message)
    except BaseException as error:
        if not isinstance(error, EOFError | OSError | MemoryError):
            traceback.print_exc()
    finally:
        os._exit(1)


def _leave_all_but(theirs: socket.socket) -> Connection:
    """Close all files of the parent, with their locks, but keep this end of the connection and stderr.

    What a library prints to stdout must not get between the translations, so it goes to stderr.
    """
    kept = fcntl.fcntl(theirs.detach(), fcntl.F_DUPFD_CLOEXEC, 3)  # a closed stdin or stdout may have lent its number
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 (names are enough)
        if (number := int(name)) not in (2, kept):
            with suppress(OSError):  # the one that listed them
                os.close(number)
    os.open(os.devnull, os.O_RDONLY)  # takes number 0
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.open(os.devnull, os.O_WRONLY)
    return Connection(kept)


def _take_plain_signals(mask: set[int | signal.Signals]) -> None:
    """Let signals end this process, but those that its parent was started to ignore, as `nohup` does."""
    for signum in _PLAIN_SIGNALS:
        if signum == signal.SIGPIPE or signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _failure(error: Exception) -> bytes:
    trace = "".join(traceback.format_exception(error))
    try:
        message = pickle.dumps((None, error, trace))
        pickle.loads(message)  # some errors can be written, but not read
    except Exception:
        sentence = f"a worker process failed: {type(error).__name__}: {error}"
        return pickle.dumps((None, TranslationError(sentence), trace))
    return message
