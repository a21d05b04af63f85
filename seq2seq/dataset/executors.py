"""A map over blocks of text, in the order of the corpus, by whatever executor a configuration names.

Little text is encoded in this process, by threads of SentencePiece. Much text goes to a pool of processes on this
machine, or to the workers of a Dask cluster. What comes out does not depend on that.
"""

import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process

from seq2seq.config import DataConfig
from seq2seq.cores import n_cores
from seq2seq.dataset.encoding import Block, Encoder, Text
from seq2seq.errors import ConfigError, CorpusError
from seq2seq.exit_status import raise_if_stopped, signals_held_back, watch_parent
from seq2seq.memory import offer_to_be_killed_first

FEW = 10  # blocks of 10,000 pairs: to encode fewer takes less time than processes take to start
_AHEAD = 2  # blocks that are on their way, for each worker: one is at work, and the next one waits


def encoded(encoder: Encoder, texts: Iterator[Text], data: DataConfig) -> Generator[Block, None, None]:
    """The block of each text, in order.

    Raises:
        ConfigError: `data.executor` cannot be used.
        CorpusError: a process was killed, or what reading the texts raises.
    """
    few = list(islice(texts, FEW))
    n_workers = data.n_workers or n_cores()
    if len(few) < FEW or (n_workers == 1 and not data.executor):
        yield from map(replace(encoder, n_threads=n_workers), chain(few, texts))
        return
    work = pickle.dumps(replace(encoder, n_threads=1))
    with _dask(data.executor) if data.executor else _processes(n_workers) as (executor, n):
        yield from in_order(lambda text: executor.submit(_block, work, text), chain(few, texts), _AHEAD * n)


def in_order(submit: Callable[[Text], "Future[Block]"], texts: Iterable[Text], most: int) -> Iterator[Block]:
    """What comes of each text, in order, while at most so many are on their way."""
    waiting: deque[Future[Block]] = deque()
    for text in texts:
        with signals_held_back([signal.SIGINT]):  # Ctrl-C reaches all processes; a new one leaves it to its parent
            waiting.append(submit(text))
        if len(waiting) == most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _block(work: bytes, text: Text) -> Block:
    return _encoder(work)(text)


@lru_cache(maxsize=1)
def _encoder(work: bytes) -> Encoder:
    """The encoder comes with each text, since a worker of Dask may come late; it is made once."""
    encoder: Encoder = pickle.loads(work)
    return encoder


@contextmanager
def _processes(n: int) -> Iterator[tuple[Executor, int]]:
    """Fresh processes, which import this program: a fork of one that has threads can hang."""
    if getattr(sys.modules["__main__"], "__file__", None) == "<stdin>":
        raise ConfigError(
            "text is prepared by processes that import this program, and it is read from stdin; put it into a file, or "
            "set data.n_workers=1"
        )
    others = active_children()
    executor = ProcessPoolExecutor(n, get_context("spawn"), _begin)
    try:
        yield executor, n
    except BaseException as error:
        for process in active_children():
            if process not in others:
                process.kill()  # rather than wait for the blocks that it has
        if isinstance(error, OSError):
            raise CorpusError(
                f"a process that prepares text cannot start ({error.strerror or error}); set data.n_workers to fewer"
            ) from error
        if not isinstance(error, BrokenProcessPool):
            raise
        raise_if_stopped()
        raise CorpusError(
            "a process that prepares text was killed, most likely because memory ran out; set data.n_workers to fewer, "
            "and start again"
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None and parent.pid is not None
    watch_parent(parent.pid, lambda: os._exit(1))  # a pool does not notice that its parent was killed
    offer_to_be_killed_first()


@contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    """The workers of a cluster. They and the scheduler need this package, too."""
    try:
        from distributed import Client, KilledWorker
    except ModuleNotFoundError as error:
        raise ConfigError(f"data.executor={address} needs the package {error.name}: pip install distributed") from error
    try:
        client = Client(address.replace("dask://", "tcp://"), set_as_default=False)
        client.wait_for_workers(1, timeout=60)
    except (OSError, TimeoutError) as error:
        raise ConfigError(
            f"data.executor={address}: no scheduler with a worker answers ({error}); start `dask scheduler` and `dask "
            "worker`, or leave data.executor out"
        ) from error
    with client:
        try:
            yield client.get_executor(pure=False), sum(client.ncores().values())
        except (KilledWorker, CancelledError, ImportError, RuntimeError, OSError) as error:
            raise_if_stopped()
            problem = " ".join(str(error).split()) or repr(error)
            raise CorpusError(
                f"data.executor={address}: the cluster gave the work up ({problem}); scheduler and workers need this "
                "version of seq2seq and enough memory: look into their logs, and start again"
            ) from error
