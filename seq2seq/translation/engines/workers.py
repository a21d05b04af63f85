"""Workers search batches at the same time. What they find comes as futures.

Each worker is a thread, or a process that threads ask, forked before any of them began;
docs/decisions/0008-forked-workers.md says when that is so, and why.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from seq2seq.errors import TranslationError
from seq2seq.exit_status import is_stopped, note, raise_if_stopped
from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import is_out_of_memory
from seq2seq.translation.engines import Engine
from seq2seq.translation.engines.forked import Forked

I = TypeVar("I")  # noqa: E741
R = TypeVar("R")

_CHECK_S = 1.0  # longest wait without a look for a signal whose exception got lost
# A signal to a whole group of processes may reach a worker first. The parent gets its own within this time.
_GROUP_SIGNAL_S = 0.2
_GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_REMEDY = "use fewer workers (--workers) or smaller batches (--max-batch-tokens)"


@dataclass(frozen=True)
class _Job:
    """Some items of a batch, next to each other.

    Attributes:
        work: called as `work(engine, items)`.
        is_alone: whether no other worker may be at work meanwhile. So a single item is tried once more that memory did
            not suffice for, or that ended its worker: then the others cannot be the reason.
        is_deadly: whether a process ended with these items. This process shall not.
    """

    work: Callable[..., list[Any]]
    items: list[Any]
    is_alone: bool = False
    is_deadly: bool = False


class _Trouble(NamedTuple):
    """The memory did not suffice for all items at once, or the process has ended that was at work."""

    problem: str  # what is wrong with an item if it comes again, as the rest of a sentence
    is_death: bool


class Workers:
    """As many workers as the engine wants, from the first work on.

    A batch that does not fit into memory, or whose process was killed, is done again in halves; the user is told once.
    Several threads may use one `Workers`.
    """

    def __init__(self, engine: Engine, say: Callable[[str], None] = note) -> None:
        """`say` gets each message to the user, one sentence; a worker's thread calls it."""
        self.n_workers = engine.n_workers  # that live
        self._engine, self._say = engine, say
        self._prefix = f"worker of {id(self)} "
        self._told: set[str] = set()
        self._pool: ThreadPoolExecutor | None = None
        self._processes: list[Forked] = []  # that live, as far as is known
        self._idle: list[Forked | None] = []  # None is a thread itself
        self._changed = threading.Condition()
        self._is_closed = False

    def start(self) -> ThreadPoolExecutor:
        """Start the workers now, and not with the first work: a fork is safe only before this process has threads."""
        with self._changed:
            if self._pool is None:
                n, forks, prepare = self._engine.n_workers, self._engine.forks, self._engine.start_worker
                wanted = [self._fork() for _ in range(n)] if forks else []
                self._idle = [process for process in wanted if process] or [None] * n
                self.n_workers, self._is_closed = len(self._idle), False
                self._pool = ThreadPoolExecutor(self.n_workers, self._prefix, None if forks else prepare)
                self._n_others = self._other_threads() if forks else 0
            return self._pool

    def submit(self, work: Callable[[Engine, list[I]], list[R]], items: Sequence[I]) -> Future[list[R]]:
        """Let a worker call `work(engine, items)`, which returns one result for each item.

        Its error is that of the future. It is a TranslationError if a single item needs more memory than there is, or
        ends each worker that works on it.

        Args:
            work: a function of a module, or a `partial` of one, since a forked process finds it by its name. It may be
                called more than once, for parts of the items.
        """
        return self.start().submit(self._do, _Job(work, list(items)))

    def wait(self, futures: Iterable[Future[Any]]) -> None:
        """Wait until one of those that are not done yet is done.

        Raises:
            KeyboardInterrupt, SystemExit: a signal came.
        """
        pending = [future for future in futures if not future.done()]
        raise_if_stopped()
        while pending and not wait_for(pending, _CHECK_S, FIRST_COMPLETED).done:
            raise_if_stopped()

    def close(self) -> None:
        """Cancel all work and end the workers: processes at once, threads when they can. Later work starts others."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            processes, self._processes = self._processes, []
            pool, self._pool = self._pool, None
        for process in processes:
            process.kill()
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        for process in processes:
            process.signal_that_ended()

    def _do(self, job: _Job) -> list[Any]:
        """The results of a job, in one of the threads."""
        with self._worker(job.is_alone) as worker:
            found = self._found(job, worker)
        if isinstance(found, list):
            return found
        job = replace(job, is_deadly=job.is_deadly or found.is_death)
        if len(job.items) > 1:
            middle = len(job.items) // 2
            halves = (job.items[:middle], job.items[middle:])
            return [result for half in halves for result in self._do(replace(job, items=half))]
        if not job.is_alone:
            return self._do(replace(job, is_alone=True))
        raise TranslationError(f"{_name(job.items[0])} {found.problem}; use a smaller beam (--beam-size), or split it")

    def _found(self, job: _Job, worker: Forked | None) -> list[Any] | _Trouble:
        if worker is not None:
            try:
                found = worker.ask(job.work, job.items)
            except (EOFError, OSError):
                if not worker.is_dead():  # it is the work's own error
                    raise
                return self._death(worker)
        elif job.is_deadly:
            raise TranslationError(f"{_name(job.items[0])} or one after it ended a worker process; {_REMEDY}")
        else:
            if self._engine.forks:  # it takes over from the last process
                self._engine.start_worker()
            found = _done(self._engine, job.work, job.items)
        if isinstance(found, _Trouble):
            self._tell_once("memory", f"memory ran out for a batch, which is done again in halves; {_REMEDY}")
        return found

    @contextmanager
    def _worker(self, is_alone: bool) -> Iterator[Forked | None]:
        """One that is idle, or all, of which only one works."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._n_idle() >= (self.n_workers if is_alone else 1))
            if self._is_closed:
                raise CancelledError
            n = self.n_workers if is_alone else 1
            taken, self._idle = self._idle[:n], self._idle[n:]
        try:
            yield taken[0]
        finally:
            with self._changed:
                self._idle += taken
                self._changed.notify_all()

    def _n_idle(self) -> int:
        """Idle workers, without those that have died; if none is left, with another."""
        for worker in [each for each in self._idle if each is not None and each.is_dead()]:
            self._idle.remove(worker)
            if worker in self._processes:  # nobody has noticed yet
                self._death(worker)
            if self.n_workers > 1:
                self.n_workers -= 1
            else:
                self._idle.append(self._another())
        return len(self._idle)

    def _death(self, process: Forked) -> _Trouble:
        signum = process.signal_that_ended()
        if signum in _GROUP_SIGNALS:
            time.sleep(_GROUP_SIGNAL_S)
        if self._is_closed or is_stopped():
            raise CancelledError
        self._processes.remove(process)
        reason = _reason(signum)
        self._tell_once("death", f"a worker process {reason}; the work goes on; {_REMEDY}")
        return _Trouble(f"ended two worker processes: the last one {reason}", is_death=True)

    def _another(self) -> Forked | None:
        """A process in place of the last one; None if it is too late to fork: another thread may hold a lock then."""
        return self._fork() if self._other_threads() <= self._n_others else None

    def _fork(self) -> Forked | None:
        try:
            process = Forked(self._engine.start_worker, partial(_done, self._engine))
        except OSError:  # there is no memory for one more, or there are too many
            return None
        self._processes.append(process)
        return process

    def _other_threads(self) -> int:
        """Threads of this process, also those of libraries, without the workers."""
        n_own = sum(thread.name.startswith(self._prefix) for thread in threading.enumerate())
        return len(list(Path("/proc/self/task").iterdir())) - n_own

    def _tell_once(self, topic: str, message: str) -> None:
        if topic not in self._told:
            self._told.add(topic)
            self._say(f"warning: {message}")


def _done(engine: Engine, work: Callable[..., list[Any]], items: list[Any]) -> list[Any] | _Trouble:
    """Do a batch in this thread."""
    try:
        return work(engine, items)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        message = " ".join(str(error).split())[:200] or type(error).__name__
    give_back_freed_memory()  # now that the error, and what it kept, are gone
    return _Trouble(f"alone needs more memory than there is [{message}]", is_death=False)


def _reason(signum: int) -> str:
    name = signal.Signals(signum).name if signum else "by itself"
    if signum in (signal.SIGKILL, signal.SIGTERM):
        return f"was killed ({name}), most likely because memory ran out"
    return f"ended unexpectedly ({name})"


def _name(item: Any) -> str:
    number = getattr(item, "number", None)
    return "a sentence" if number is None else f"line {number + 1}"
