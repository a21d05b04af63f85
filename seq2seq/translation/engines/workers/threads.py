"""Workers that are threads of this process."""

import queue
import threading
from collections.abc import Container
from concurrent.futures import ThreadPoolExecutor

from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.workers.jobs import Job, Outcome, outcome

_NAME = "worker"  # begins the name of each thread


class Threads:
    """A `Crew`. A thread cannot be stopped: one whose job was dropped comes to the end of it, and nobody is told."""

    def __init__(self, engine: Engine) -> None:
        self._n_workers = 0
        self._engine = engine
        self._pool: ThreadPoolExecutor | None = None
        self._running: set[Job] = set()
        self._dropped: set[Job] = set()
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()

    @property
    def n_workers(self) -> int:
        """See `Crew.n_workers`."""
        return self._n_workers

    @property
    def n_idle(self) -> int:
        """See `Crew.n_idle`."""
        return self.n_workers - len(self._running)

    def recruit(self, n_workers: int) -> bool:
        """See `Crew.recruit`. Their number never changes."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(n_workers, _NAME, self._engine.start_worker)
            self._n_workers = n_workers
        return True

    def give(self, job: Job) -> None:
        """See `Crew.give`."""
        assert self._pool is not None
        self._running.add(job)
        self._pool.submit(_do, self._engine, job, self._outcomes)

    def wait(self, timeout_s: float) -> list[Outcome]:
        """See `Crew.wait`."""
        found: list[Outcome] = []
        try:
            found.append(self._outcomes.get(timeout=timeout_s))
            while True:
                found.append(self._outcomes.get_nowait())
        except queue.Empty:
            pass
        jobs = {each.job for each in found}
        self._running.difference_update(job for job in jobs if job is not None)
        wanted = [each for each in found if each.job not in self._dropped]
        self._dropped.difference_update(job for job in jobs if job is not None)
        return wanted

    def drop(self, keys: Container[object]) -> None:
        """See `Crew.drop`."""
        self._dropped.update(job for job in self._running if job.key in keys)

    def close(self) -> None:
        """See `Crew.close`. Waits for the jobs that run."""
        if self._pool is not None:
            # The garbage collector may call this in one of the threads, which cannot wait for itself.
            is_worker = threading.current_thread().name.startswith(_NAME)
            self._pool.shutdown(wait=not is_worker, cancel_futures=True)


def _do(engine: Engine, job: Job, outcomes: "queue.SimpleQueue[Outcome]") -> None:
    outcomes.put(outcome(engine, job))
