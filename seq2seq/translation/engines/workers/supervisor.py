"""The supervisor: hands out work, does again what a worker could not finish, and tells the user once."""

import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from seq2seq.errors import TranslationError
from seq2seq.exit_status import note, raise_if_stopped
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.workers.jobs import Crew, Died, Done, Job, Outcome, OutOfMemory
from seq2seq.translation.engines.workers.threads import Threads

I = TypeVar("I")  # noqa: E741
P = ParamSpec("P")
R = TypeVar("R")

_CHECK_S = 1.0  # longest wait without a look whether a signal came whose exception got lost
# A signal to a whole group of processes may reach a worker first. The parent gets its own within this time.
_GROUP_SIGNAL_S = 0.2
_GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", 0))
_REMEDY = "use fewer workers (--workers) or smaller batches (--max-batch-tokens)"


class Task(Generic[R]):
    """Work that was handed in, with one result for each of its items."""

    def __init__(self, workers: "Workers", n_items: int) -> None:
        """Use `Workers.submit`."""
        self._workers = workers
        self._results: list[R | None] = [None] * n_items
        self._n_missing = n_items
        self._error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        """Whether `result` returns or raises at once."""
        return self._error is not None or not self._n_missing

    def result(self) -> list[R]:
        """Wait for the results, one for each item.

        Raises:
            TranslationError: a single item needs more memory than there is, or ends each worker that works on it.
            CancelledError: `Workers.cancel` or `Workers.close` came first.
            BaseException: whatever the work raised.
        """
        while not self.is_done:
            self._workers.wait()
        if self._error is not None:
            raise self._error
        return self._results  # type: ignore[return-value]

    def _put(self, begin: int, results: Sequence[R]) -> None:
        self._results[begin : begin + len(results)] = results
        self._n_missing -= len(results)

    def _fail(self, error: BaseException) -> None:
        if not self.is_done:
            self._error = error


class Workers:
    """As many workers as the engine wants, for as long as there is work for them.

    They are forked processes if the engine says so, and threads otherwise. A batch that does not fit into memory, or
    whose worker was killed, is done again in halves; the user is told once. Several threads may use one `Workers`, but
    one that waits keeps the others waiting too.
    """

    def __init__(
        self, engine: Engine, say: Callable[[str], None] = note, name: Callable[[Any], str] | None = None
    ) -> None:
        """
        Args:
            say: gets each message to the user, one sentence.
            name: what to call an item in an error. The default knows the number of a line, where an item has one.
        """
        self.n_workers = engine.n_workers
        self._engine = engine
        self._say = say
        self._name = name or _name
        self._crew: Crew | None = None
        self._end: Callable[[], object] = _do_nothing
        self._waiting: deque[Job] = deque()
        self._is_one_alone = False  # whether a job is being done that wants to be alone
        self._open: set[Task[Any]] = set()
        self._told: set[str] = set()
        self._lock = threading.RLock()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the workers now, and not with the first work: a fork is safe only before this process has threads."""
        with self._lock:
            if self._crew is None:
                self._employ(_new_crew(self._engine))

    def submit(
        self, work: Callable[Concatenate[Engine, list[I], P], list[R]], items: Sequence[I], *args: P.args, **_: P.kwargs
    ) -> Task[R]:
        """Let a worker call `work(engine, items, *args)`, which returns one result for each item.

        Args:
            work: a function of a module, since a forked process finds it by its name. It may be called more than once,
                for parts of the items.
        """
        task: Task[R] = Task(self, len(items))
        if not items:
            return task
        with self._lock:
            self.start()
            self._open.add(task)
            self._waiting.append(Job(task, work, list(items), args))
            self._go_on(0.0)
        return task

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until a task that is not done yet is done, or until so many seconds are over.

        Raises:
            KeyboardInterrupt, SystemExit: a signal came. Then all work was cancelled.
        """
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        with self._lock:
            n_open = len(self._open)
            while self._open and len(self._open) == n_open:
                left_s = _CHECK_S if end_s is None else min(_CHECK_S, max(0.0, end_s - time.monotonic()))
                self._go_on(left_s)
                if end_s is not None and time.monotonic() >= end_s:
                    return

    def cancel(self, tasks: Iterable[Task[Any]] | None = None) -> None:
        """Forget these tasks, or all. Forked workers that work on them are killed; threads come to their end."""
        with self._lock:
            dropped = self._open.intersection(self._open if tasks is None else tasks)
            self._forget(dropped)
            for task in dropped:
                task._fail(CancelledError("the work was cancelled"))

    def close(self) -> None:
        """Cancel all work and end the workers. Later work starts others."""
        with self._lock:
            self.cancel()
            self._end()
            self._crew, self._end = None, _do_nothing

    def _employ(self, crew: Crew) -> None:
        self._end()
        self._crew = crew
        self._end = weakref.finalize(self, crew.close)
        if not crew.recruit(self.n_workers):
            self._employ(Threads(self._engine))

    def _go_on(self, timeout_s: float) -> None:
        """Hand out jobs, and deal with what happens within this time. An interruption cancels all work."""
        try:
            raise_if_stopped()
            for seconds in (0.0, timeout_s):  # first those that died idle: their next job would be blamed for it
                if self._crew is not None:
                    for outcome in self._crew.wait(seconds):
                        self._deal_with(outcome)
                self._hand_out()
        except BaseException:
            self.cancel()
            raise

    def _hand_out(self) -> None:
        assert self._crew is not None
        if self._waiting and not self._crew.recruit(self.n_workers):  # they are dead, and it is too late to fork
            self._employ(Threads(self._engine))
        while self._waiting and self._crew.n_idle and not self._is_one_alone:
            is_quiet = self._crew.n_idle == self._crew.n_workers
            if self._waiting[0].is_alone and not is_quiet:
                return
            self._is_one_alone = self._waiting[0].is_alone
            self._crew.give(self._waiting.popleft())

    def _deal_with(self, outcome: Outcome) -> None:
        job = outcome.job
        if job is not None and job.is_alone:
            self._is_one_alone = False
        if isinstance(outcome, Died):
            self._mourn(outcome)
        elif isinstance(outcome, OutOfMemory):
            self._tell_once("memory", f"memory ran out for a batch, which is done again in halves; {_REMEDY}")
            problem = f"alone needs more memory than there is [{outcome.message}]"
            self._do_again(outcome.job, problem)
        else:
            task = _task_of(outcome.job)
            if isinstance(outcome, Done):
                assert len(outcome.results) == len(outcome.job.items), "work must give a result for each item"
                task._put(outcome.job.begin, outcome.results)
            else:
                task._fail(outcome.error)
            if task.is_done:
                self._forget({task})

    def _mourn(self, died: Died) -> None:
        """Go on without a worker, one fewer than before."""
        if died.signum in _GROUP_SIGNALS:
            time.sleep(_GROUP_SIGNAL_S)
            raise_if_stopped()
        self.n_workers = max(1, self.n_workers - 1)
        name = signal.Signals(died.signum).name if died.signum else "by itself"
        if died.signum in (signal.SIGKILL, signal.SIGTERM):
            reason = f"was killed ({name}), most likely because memory ran out"
        else:
            reason = f"ended unexpectedly ({name})"
        if died.job is None:
            self._tell_once("death", f"an idle worker process {reason}; the work goes on; {_REMEDY}")
        else:
            self._tell_once("death", f"a worker process {reason}; its batch is done again in halves; {_REMEDY}")
            self._do_again(died.job, f"ended two worker processes: the last one {reason}")

    def _do_again(self, job: Job, problem: str) -> None:
        """Do a job in halves; a single item alone; and if that did not help either, fail.

        Args:
            problem: what is wrong with the item if it fails, as the rest of a sentence.
        """
        if len(job.items) > 1:
            middle = len(job.items) // 2
            for begin, items in ((middle, job.items[middle:]), (0, job.items[:middle])):
                self._waiting.appendleft(Job(job.key, job.work, items, job.args, job.begin + begin))
        elif not job.is_alone:
            self._waiting.appendleft(Job(job.key, job.work, job.items, job.args, job.begin, is_alone=True))
        else:
            task = _task_of(job)
            remedy = "use a smaller beam (--beam-size), or split it"
            task._fail(TranslationError(f"{self._name(job.items[0])} {problem}; {remedy}"))
            self._forget({task})

    def _forget(self, tasks: set[Task[Any]]) -> None:
        self._open -= tasks
        self._waiting = deque(job for job in self._waiting if job.key not in tasks)
        if self._crew is not None:
            self._crew.drop(tasks)

    def _tell_once(self, topic: str, message: str) -> None:
        if topic not in self._told:
            self._told.add(topic)
            self._say(f"warning: {message}")


def _new_crew(engine: Engine) -> Crew:
    if not engine.forks:
        return Threads(engine)
    from seq2seq.translation.engines.workers.forked import Forked  # its modules do not exist on Windows

    return Forked(engine)


def _task_of(job: Job) -> Task[Any]:
    assert isinstance(job.key, Task)
    return job.key


def _name(item: Any) -> str:
    number = getattr(item, "number", None)
    return "a sentence" if number is None else f"line {number + 1}"


def _do_nothing() -> None:
    """What ends workers that have not begun."""
