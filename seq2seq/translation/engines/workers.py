"""Workers search batches at the same time. What they find comes as futures.

Each worker is a thread. Where the engine says so, the thread only stands for a process, forked before any thread began;
docs/decisions/0008-forked-workers.md says when that is so, and why.
"""

import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import replace
from operator import le
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from seq2seq.errors import TranslationError
from seq2seq.exit_status import is_stopped, note, raise_if_stopped
from seq2seq.translation.engines.job import MISSING, Died, Done, Failed, Job, Outcome, OutOfMemory, outcome
from seq2seq.translation.engines.protocol import Engine

if TYPE_CHECKING:
    from seq2seq.translation.engines.forked import Forked

I = TypeVar("I")  # noqa: E741
P = ParamSpec("P")
R = TypeVar("R")

_CHECK_S = 1.0  # longest wait without a look for a signal whose exception got lost, or for an idle worker that died
# A signal to a whole group of processes may reach a worker first. The parent gets its own within this time.
_GROUP_SIGNAL_S = 0.2
_GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", 0))
_REMEDY = "use fewer workers (--workers) or smaller batches (--max-batch-tokens)"


class Workers:
    """As many workers as the engine wants, from the first work on.

    A batch that does not fit into memory, or whose process was killed, is done again in halves; the user is told once.
    Several threads may use one `Workers`.
    """

    def __init__(
        self, engine: Engine, say: Callable[[str], None] = note, name: Callable[[Any], str] | None = None
    ) -> None:
        """
        Args:
            say: gets each message to the user, one sentence; a worker's thread calls it.
            name: what to call an item in an error. The default knows the number of a line, where an item has one.
        """
        self._new_crew: Callable[[], _Crew] = lambda: _Crew(engine, say, name or _name)
        self._n_wanted = engine.n_workers
        self._crew: _Crew | None = None
        self._end: Callable[[], object] = lambda: None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def n_workers(self) -> int:
        """Workers that live."""
        return self._n_wanted if self._crew is None else self._crew.n_workers

    def start(self) -> "_Crew":
        """Start the workers now, and not with the first work: a fork is safe only before this process has threads."""
        if self._crew is None:
            self._crew = self._new_crew()
            self._end = weakref.finalize(self, self._crew.close)
        return self._crew

    def submit(
        self, work: Callable[Concatenate[Engine, list[I], P], list[R]], items: Sequence[I], *args: P.args, **_: P.kwargs
    ) -> Future[list[R]]:
        """Let a worker call `work(engine, items, *args)`, which returns one result for each item.

        Its error is that of the future. It is a TranslationError if a single item needs more memory than there is, or
        ends each worker that works on it.

        Args:
            work: a function of a module, since a forked process finds it by its name. It may be called more than once,
                for parts of the items.
        """
        future: Future[list[R]] = Future()
        if items:
            self.start().add(Job(future, work, list(items), args, [MISSING] * len(items)))
        else:
            future.set_result([])
        return future

    def wait(self, futures: Iterable[Future[Any]], timeout_s: float | None = None) -> None:
        """Wait until one of those that are not done yet is done, or until so many seconds are over.

        Raises:
            KeyboardInterrupt, SystemExit: a signal came.
        """
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        pending = [future for future in futures if not future.done()]
        while pending:
            raise_if_stopped()
            left_s = _CHECK_S if end_s is None else min(_CHECK_S, max(0.0, end_s - time.monotonic()))
            done, _ = wait_for(pending, left_s, FIRST_COMPLETED)
            if done or (end_s is not None and time.monotonic() >= end_s):
                return

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """Forget these. What a worker is doing comes to its end, and nobody is told."""
        for future in futures:
            future.cancel()

    def close(self) -> None:
        """Cancel all work and end the workers: processes at once, threads when they can. Later work starts others."""
        self._end()
        self._crew, self._end = None, lambda: None


class _Crew:
    """The workers, and what waits for them. It does not know its `Workers`, which may be collected as garbage."""

    def __init__(self, engine: Engine, say: Callable[[str], None], name: Callable[[Any], str]) -> None:
        self._engine, self._say, self._name = engine, say, name
        self._told: set[str] = set()
        self._waiting: deque[Job] = deque()
        self._n_busy = 0
        self._is_one_alone = False  # whether a job is being done that wants to be alone
        self._is_closed = False
        self._changed = threading.Condition()
        self._processes = _forked(engine, engine.n_workers)
        self.n_workers = len(self._processes) or engine.n_workers
        processes: Sequence[Forked | None] = self._processes or [None] * self.n_workers
        self._threads = [threading.Thread(target=self._serve, args=(each,), daemon=True) for each in processes]
        for thread in self._threads:
            thread.start()
        self._n_others = self._other_threads()

    def add(self, job: Job) -> None:
        with self._changed:
            self._waiting.append(job)
            self._changed.notify_all()

    def close(self) -> None:
        """End all workers. It may be called more than once."""
        with self._changed:
            self._is_closed = True
            for job in self._waiting:
                job.future.cancel()
            self._waiting.clear()
            self._changed.notify_all()
        for process in self._processes:
            process.kill()
        for thread in self._threads:
            if thread is not threading.current_thread():  # the garbage collector may call this in one of them
                thread.join()

    def _serve(self, process: "Forked | None") -> None:
        """Be a worker, until the end of all, or of its process if another worker lives."""
        if process is None:
            self._engine.start_worker()
        while not self._is_closed:
            job = self._take()
            if job is None and (process is None or not process.is_dead()):
                continue
            result = self._result(job, process)
            if isinstance(result, Died):
                if not self._is_needed_after(result, job):
                    return
                process = self._another()
                if process is None:
                    self._engine.start_worker()
            else:
                assert job is not None
                self._settle(job, result)
        if process is not None:
            process.do(None)

    def _take(self) -> Job | None:
        """The next job. If there is none, wait for one, but not for long."""
        with self._changed:
            while self._waiting and self._waiting[0].future.cancelled():
                self._waiting.popleft()
            may_begin = not self._is_one_alone and self._waiting and not (self._waiting[0].is_alone and self._n_busy)
            if not may_begin:
                self._changed.wait(_CHECK_S)
                return None
            self._n_busy += 1
            self._is_one_alone = self._waiting[0].is_alone
            return self._waiting.popleft()

    def _result(self, job: Job | None, process: "Forked | None") -> Outcome:
        try:
            if process is not None:
                return process.do(job)
            assert job is not None
            if job.is_deadly:
                raise TranslationError(f"{self._name(job.items[0])} or one after it ended a worker process; {_REMEDY}")
            return outcome(self._engine, job.work, job.items, job.args)
        except Exception as error:  # of items that cannot be sent
            return Failed(error)

    def _settle(self, job: Job, result: Outcome) -> None:
        with self._changed, suppress(InvalidStateError):  # it was cancelled meanwhile
            self._end(job)
            if isinstance(result, Done):
                job.results[job.begin : job.begin + len(job.items)] = result.results
                if all(each is not MISSING for each in job.results):  # `in` would compare arrays
                    job.future.set_result(job.results)
            elif isinstance(result, OutOfMemory):
                self._tell_once("memory", f"memory ran out for a batch, which is done again in halves; {_REMEDY}")
                self._do_again(job, f"alone needs more memory than there is [{result.message}]")
            elif isinstance(result, Failed):
                job.future.set_exception(result.error)

    def _is_needed_after(self, died: Died, job: Job | None) -> bool:
        """Go on without a process. Whether the thread that stood for it is needed, since no other worker is left."""
        if died.signum in _GROUP_SIGNALS:
            time.sleep(_GROUP_SIGNAL_S)
        with self._changed, suppress(InvalidStateError):
            if job is not None:
                self._end(job)
            if self._is_closed or is_stopped():
                if job is not None:
                    job.future.cancel()
                return False
            is_last = self.n_workers == 1
            self.n_workers = max(1, self.n_workers - 1)
            reason = _reason(died)
            if died.was_idle:
                self._tell_once("death", f"an idle worker process {reason}; the work goes on; {_REMEDY}")
                if job is not None:
                    self._waiting.appendleft(job)
            elif job is not None:
                self._tell_once("death", f"a worker process {reason}; its batch is done again in halves; {_REMEDY}")
                self._do_again(replace(job, is_deadly=True), f"ended two worker processes: the last one {reason}")
        return is_last

    def _another(self) -> "Forked | None":
        """A process in place of the last one; None if it is too late to fork: another thread may hold a lock then."""
        with self._changed, suppress(OSError):
            if not self._is_closed and all(map(le, self._other_threads(), self._n_others)):
                self._processes += _forked(self._engine, 1)
                return self._processes[-1]
        return None

    def _other_threads(self) -> tuple[int, int]:
        """Threads of Python, and those of libraries as well, in this process, without the workers."""
        tasks, n_own = Path("/proc/self/task"), sum(thread.is_alive() for thread in self._threads)
        return threading.active_count() - n_own, len(list(tasks.iterdir())) - n_own if tasks.exists() else 0

    def _end(self, job: Job) -> None:
        self._n_busy -= 1
        self._is_one_alone = False
        self._changed.notify_all()

    def _do_again(self, job: Job, problem: str) -> None:
        """Do a job in halves; a single item alone; and if that did not help either, fail.

        Args:
            problem: what is wrong with the item if it fails, as the rest of a sentence.
        """
        if len(job.items) > 1:
            middle = len(job.items) // 2
            for begin, end in ((middle, len(job.items)), (0, middle)):
                self._waiting.appendleft(replace(job, items=job.items[begin:end], begin=job.begin + begin))
        elif not job.is_alone:
            self._waiting.appendleft(replace(job, is_alone=True))
        else:
            remedy = "use a smaller beam (--beam-size), or split it"
            job.future.set_exception(TranslationError(f"{self._name(job.items[0])} {problem}; {remedy}"))

    def _tell_once(self, topic: str, message: str) -> None:
        if topic not in self._told:
            self._told.add(topic)
            self._say(f"warning: {message}")


def _forked(engine: Engine, n: int) -> "list[Forked]":
    """So many processes, or as many as there can be; none if the engine wants threads."""
    if not engine.forks:
        return []
    from seq2seq.translation.engines import forked  # its modules do not exist on Windows

    processes: list[Forked] = []
    with suppress(OSError):
        while len(processes) < n:
            processes.append(forked.Forked(engine))
    return processes


def _reason(died: Died) -> str:
    name = signal.Signals(died.signum).name if died.signum else "by itself"
    if died.signum in (signal.SIGKILL, signal.SIGTERM):
        return f"was killed ({name}), most likely because memory ran out"
    return f"ended unexpectedly ({name})"


def _name(item: Any) -> str:
    number = getattr(item, "number", None)
    return "a sentence" if number is None else f"line {number + 1}"
