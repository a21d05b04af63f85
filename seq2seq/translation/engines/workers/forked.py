"""Workers that are processes, forked from the one that loaded the model.

Each worker has one connection to its parent, which carries jobs and outcomes, and tells each side when the other is
gone. A worker is a plain process: signals end it, at once and without a word, and only the parent reports.
"""

import fcntl
import gc
import os
import pickle
import select
import signal
import socket
import threading
import traceback
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_any
from operator import le
from typing import NoReturn

from seq2seq.errors import TranslationError, UserError
from seq2seq.memory import offer_to_be_killed_first
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.workers.jobs import Died, Done, Failed, Job, Outcome, OutOfMemory, outcome

# Python has handlers for the first and ignores the last; the command line has handlers for the others.
_PLAIN_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_PARENT_CHECK_MS = 1000  # see `_end_with_parent`


@dataclass(eq=False)
class _Worker:
    """A child process as its parent sees it."""

    process: int  # its id
    connection: Connection
    job: Job | None = None


class Forked:
    """A `Crew`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._workers: list[_Worker] = []
        self._parent = os.getpid()
        self._n_threads: tuple[int, int] | None = None  # of this process, when it had forked for the first time

    @property
    def n_workers(self) -> int:
        """See `Crew.n_workers`."""
        return len(self._workers)

    @property
    def n_idle(self) -> int:
        """See `Crew.n_idle`."""
        return sum(worker.job is None for worker in self._workers)

    def recruit(self, n_workers: int) -> bool:
        """See `Crew.recruit`.

        It forks again only if this process has no more threads than after its first forks: a child would wait forever
        for a lock that another thread holds.
        """
        if len(self._workers) >= n_workers:  # as in nearly all calls; to count threads takes longer than all the rest
            return True
        if self._n_threads is None or all(map(le, _n_threads(), self._n_threads)):
            with suppress(OSError):  # no memory for one more, or too many processes
                while len(self._workers) < n_workers:
                    self._fork()
            self._n_threads = self._n_threads or _n_threads()
        return bool(self._workers)

    def give(self, job: Job) -> None:
        """See `Crew.give`."""
        worker = next(worker for worker in self._workers if worker.job is None)
        worker.job = job
        with suppress(OSError):  # it is dead: `wait` will notice
            worker.connection.send_bytes(pickle.dumps((job.work, job.items, job.args)))

    def wait(self, timeout_s: float) -> list[Outcome]:
        """See `Crew.wait`."""
        ready = wait_for_any([worker.connection for worker in self._workers], timeout_s)
        return [self._receive(worker) for worker in list(self._workers) if worker.connection in ready]

    def drop(self, keys: Container[object]) -> None:
        """See `Crew.drop`: workers with such a job are killed."""
        self._kill([worker for worker in self._workers if worker.job is not None and worker.job.key in keys])

    def close(self) -> None:
        """See `Crew.close`. They are killed."""
        self._kill(list(self._workers))

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        # No signal may come before both sides know what to do about it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            if (process := os.fork()) == 0:
                _serve(self._engine, theirs, self._parent, mask)
            self._workers.append(_Worker(process, Connection(ours.detach())))
        finally:
            theirs.close()
            ours.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _receive(self, worker: _Worker) -> Outcome:
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            self._workers.remove(worker)
            worker.connection.close()
            return Died(worker.job, _signal_that_ended(worker.process))
        kind, value = pickle.loads(message)
        job, worker.job = worker.job, None
        assert job is not None
        if kind is Failed:
            error, trace = value
            if not isinstance(error, UserError):
                error.__cause__ = _InWorker(trace)
            return Failed(job, error)
        return Done(job, value) if kind is Done else OutOfMemory(job, value)

    def _kill(self, workers: list[_Worker]) -> None:
        if os.getpid() != self._parent:  # this is a copy in a process that something else forked
            return
        for worker in workers:
            self._workers.remove(worker)
            with suppress(ProcessLookupError):
                os.kill(worker.process, signal.SIGKILL)
        for worker in workers:
            _signal_that_ended(worker.process)
            worker.connection.close()


class _InWorker(Exception):
    """Where in a worker process an error was raised, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _n_threads() -> tuple[int, int]:
    """Threads of Python, and those of libraries as well, in this process."""
    return threading.active_count(), len(os.listdir("/proc/self/task"))  # noqa: PTH208 (names are enough)


def _signal_that_ended(process: int) -> int:
    """Wait for the end of a child process; 0 if it ended by itself, or if nobody knows."""
    try:
        _, status = os.waitpid(process, 0)
    except ChildProcessError:  # SIGCHLD is ignored here, or somebody else has asked
        return 0
    return max(0, -os.waitstatus_to_exitcode(status))


def _serve(engine: Engine, theirs: socket.socket, parent: int, mask: set[int | signal.Signals]) -> NoReturn:
    """Be a worker: do jobs until the parent is gone. Nothing of this process is flushed or freed at its end."""
    try:
        connection = _leave_all_but(theirs)
        _take_plain_signals(mask)
        gc.freeze()  # never collect what the parent left: to free it may mean to wait for threads that are not here
        threading.Thread(target=_end_with_parent, args=(connection.fileno(), parent), daemon=True).start()
        offer_to_be_killed_first()
        engine.start_worker()
        while True:
            work, items, args = pickle.loads(connection.recv_bytes())
            connection.send_bytes(_reply(outcome(engine, Job(None, work, items, args))))
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


def _end_with_parent(connection: int, parent: int) -> None:
    """End this process when its parent is gone: if that was killed, nobody else would.

    Then the other end of the connection is closed, unless something else that the parent forked still holds it: so the
    parent's id is looked at as well, now and then.
    """
    poll = select.poll()
    poll.register(connection, 0)  # reports only that the other end is closed
    while not poll.poll(_PARENT_CHECK_MS) and os.getppid() == parent:
        pass
    os._exit(1)


def _reply(result: Done | Failed | OutOfMemory) -> bytes:
    """What the parent gets, pickled: the kind of outcome, and what it holds besides the job."""
    if isinstance(result, Done):
        return pickle.dumps((Done, result.results))
    if isinstance(result, OutOfMemory):
        return pickle.dumps((OutOfMemory, result.message))
    trace = "".join(traceback.format_exception(result.error))
    try:
        message = pickle.dumps((Failed, (result.error, trace)))
        pickle.loads(message)  # some errors can be written, but not read
    except Exception:
        error = TranslationError(f"a worker process failed: {type(result.error).__name__}: {result.error}")
        return pickle.dumps((Failed, (error, trace)))
    return message
