"""Workers search batches at the same time. They are threads, or processes forked from this one.

docs/decisions/0008-forked-workers.md says when they are which, and why.
"""

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Concatenate, ParamSpec, TypeVar

from seq2seq.errors import TranslationError
from seq2seq.translation.engines.protocol import Engine

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """As many workers as the engine wants. They start with the first work."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool: Executor
        if engine.forks:
            context = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(engine.n_workers, context, _start_process, (engine,))
        else:
            self._pool = ThreadPoolExecutor(engine.n_workers, initializer=engine.start_worker)

    def submit(self, work: Callable[Concatenate[Engine, P], T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Let a worker call `work(engine, *args)`. `result_of` waits for what it returns.

        A forked process finds `work` by its name, so it must be a function of a module.
        """
        if isinstance(self._pool, ProcessPoolExecutor):
            return self._pool.submit(_call_in_process, work, args, kwargs)
        return self._pool.submit(work, self._engine, *args, **kwargs)

    def close(self) -> None:
        """Drop work that has not begun, and wait for the rest."""
        self._pool.shutdown(cancel_futures=True)


def result_of(future: "Future[T]") -> T:
    """Wait for a worker, and return what it returned.

    Raises:
        TranslationError: a worker process was killed.
    """
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise TranslationError(
            "a worker process was killed, most likely because memory ran out; use fewer workers (--workers), or a "
            "lower decoding.max_batch_tokens or beam_size"
        ) from error


_engine_of_process: Engine | None = None


def _start_process(engine: Engine) -> None:
    global _engine_of_process
    gc.freeze()  # never collect what the parent left: to free some of it means to wait for threads that are not here
    _engine_of_process = engine
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides what is still to be done
    threading.Thread(target=_end_with_parent, daemon=True).start()
    engine.start_worker()


def _end_with_parent() -> None:
    """End this process when its parent is gone: if that was killed, nobody else would."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _call_in_process(work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    return work(_engine_of_process, *args, **kwargs)
