"""Batches side by side, in threads and in forked processes."""

import gc
import os
import pickle
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.errors import TranslationError
from seq2seq.translation.engines import Engine, Sentence
from seq2seq.translation.engines import load as loading
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.engines.workers import Workers
from tests.processes import lives, run_warm, until
from tests.translation.engines.models import random_model

pytestmark = pytest.mark.slow

needs_fork = pytest.mark.skipif(not loading.CAN_FORK, reason="workers are forked on Linux only")
forms = pytest.mark.parametrize("forks", [False, pytest.param(True, marks=needs_fork)], ids=["threads", "processes"])


def engine(forks: bool, n_workers: int = 2) -> PyTorchEngine:
    return PyTorchEngine([random_model(seed=3, end_bonus=3.0)], torch.device("cpu"), "float32", n_workers, 1, forks)


Hire = Callable[..., Workers]


@pytest.fixture
def said() -> list[str]:
    """What the user is told."""
    return []


@pytest.fixture
def hire(said: list[str]) -> Iterator[Hire]:
    hired: list[Workers] = []

    def hire(forks: bool = True, n_workers: int = 2) -> Workers:
        hired.append(Workers(engine(forks, n_workers), said.append))
        return hired[-1]

    yield hire
    for workers in hired:
        workers.close()


def children() -> set[int]:
    """The processes that this one has forked, also those that have ended and that it has not asked for."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


# --- what workers do ---


def process_id(engine: Engine, items: list[None]) -> list[int]:
    return [os.getpid() for _ in items]


def process_id_of_two(engine: Engine, folders: list[Path]) -> list[int]:
    """Wait in each folder for a second worker."""
    for folder in folders:
        (folder / str(os.getpid())).touch()
        until(lambda folder=folder: len(list(folder.iterdir())) == 2)  # type: ignore[misc]
    return [os.getpid() for _ in folders]


def wait_for_file(engine: Engine, paths: list[Path]) -> list[int]:
    """Leave a file that says that the work has begun, and wait for the file that ends it."""
    for path in paths:
        path.with_suffix(".begun").write_text(str(os.getpid()))
        until(path.exists)
    return [os.getpid() for _ in paths]


def doubled(engine: Engine, numbers: list[int]) -> list[int]:
    return [2 * number for number in numbers]


def killed_by(engine: Engine, numbers: list[int], deadly: int, most: int, signum: int) -> list[int]:
    """End this process if there are more than `most` items, or if `deadly` is among them."""
    if len(numbers) > most or deadly in numbers:
        os.kill(os.getpid(), signum)
        time.sleep(60)
    return doubled(engine, numbers)


@needs_fork
def test_there_are_as_many_processes_as_workers_and_they_stay(hire: Hire, tmp_path: Path) -> None:
    workers = hire()
    before = children()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        tasks = [workers.submit(process_id_of_two, [tmp_path / name]) for _ in range(2)]
        found = {task.result()[0] for task in tasks}
        assert found == children() - before and len(found) == 2
    workers.close()
    workers.close()
    assert children() == before


@forms
def test_to_wait_is_to_wait_for_the_next_task(hire: Hire, forks: bool, tmp_path: Path) -> None:
    workers = hire(forks)
    workers.wait([])  # there is nothing to wait for
    slow, quick = (workers.submit(wait_for_file, [tmp_path / name]) for name in ("slow", "quick"))

    def both() -> Iterator[Future[list[int]]]:
        yield from (slow, quick)
        (tmp_path / "quick").touch()  # now that neither was done

    workers.wait(both())
    assert [slow.done(), quick.done()] == [False, True]
    (tmp_path / "slow").touch()
    workers.wait([slow, quick])
    assert slow.done()


@forms
def test_tasks_that_are_cancelled_are_forgotten_and_others_go_on(hire: Hire, forks: bool, tmp_path: Path) -> None:
    workers = hire(forks, n_workers=2)
    dropped = [workers.submit(wait_for_file, [tmp_path / str(number)]) for number in range(10)]
    kept = workers.submit(doubled, [4])
    until(lambda: len(list(tmp_path.glob("*.begun"))) == 2)
    for future in dropped:
        future.cancel()
    for number in range(2):  # threads come to their end
        (tmp_path / str(number)).touch()
    assert kept.result() == [8]
    assert len(list(tmp_path.glob("*.begun"))) == 2
    for task in dropped[2:]:
        with pytest.raises(CancelledError):
            task.result()
    assert workers.submit(doubled, [5]).result() == [10]


# --- what a process takes over from its parent, and what it does not ---


class OfTheParent:
    """Garbage of a kind that ends a process which did not make it, as threads of C++ do."""

    def __init__(self) -> None:
        self.process, self.itself = os.getpid(), self

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(1)


def collect(engine: Engine, items: list[None]) -> list[int]:
    return [gc.collect() for _ in items]


@needs_fork
def test_a_process_leaves_the_garbage_of_its_parent_alone(hire: Hire, said: list[str]) -> None:
    gc.disable()
    try:
        OfTheParent()
        hire().submit(collect, [None]).result()
    finally:
        gc.enable()
    assert not said


def surroundings(engine: Engine, items: list[None]) -> list[tuple[int, bytes, set[str], list[Any]]]:
    """Threads of torch, what is on stdin, open files, and what signals do."""
    files = {str(Path(f"/proc/self/fd/{name}").resolve()) for name in os.listdir("/proc/self/fd")}  # noqa: PTH208
    signals = [signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)]
    return [(torch.get_num_threads(), os.read(0, 1), files, signals)]


@needs_fork
def test_a_process_has_no_files_locks_signals_or_input_of_its_parent(hire: Hire, tmp_path: Path) -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with (tmp_path / "locked").open("w"):
            ((n_threads, read, files, signals),) = hire().submit(surroundings, [None]).result()
    finally:
        signal.signal(signal.SIGHUP, ignored)
    assert (n_threads, read) == (1, b"")
    assert not [name for name in files if str(tmp_path) in name] and sum("socket:" in name for name in files) == 1
    assert signals == [signal.SIG_DFL, signal.SIG_DFL, signal.SIG_IGN, signal.SIG_DFL]


@needs_fork
def test_a_worker_of_a_process_whose_stdin_and_stdout_are_closed_works(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("""
import os
os.close(0), os.close(1)
from tests.translation.engines.test_workers import doubled, engine
from seq2seq.translation.engines.workers import Workers
workers = Workers(engine(forks=True))
os.write(2, repr(workers.submit(doubled, [4]).result()).encode())
os._exit(0)
""")
    done = run_warm([str(tmp_path / "program.py")], env=os.environ, timeout=60)
    assert (done.returncode, done.stderr) == (0, "[8]")


# --- errors of the work ---


def fail(engine: Engine, kinds: list[str]) -> list[None]:
    raise {
        "ours": TranslationError("line 3 is wrong"),
        "bug": KeyError("nothing"),
        "full": OSError("full"),
        "odd": Odd(1, 2),
    }[kinds[0]]


class Odd(Exception):
    """It can be pickled, but not read back."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")

    def __reduce__(self) -> tuple[type["Odd"], tuple[str]]:  # as without it, also where Dask has changed how errors are
        return Odd, (str(self),)


@forms
def test_errors_arrive_as_they_are(hire: Hire, forks: bool) -> None:
    workers = hire(forks)
    with pytest.raises(TranslationError, match=r"^line 3 is wrong$"):
        workers.submit(fail, ["ours"]).result()
    with pytest.raises(KeyError, match="nothing") as caught:
        workers.submit(fail, ["bug"]).result()
    assert not forks or "in fail" in str(caught.value.__cause__)  # where it was raised
    with pytest.raises(OSError, match=r"^full$"):  # and not that of a connection
        workers.submit(fail, ["full"]).result()
    assert workers.submit(doubled, [1]).result() == [2] and workers.n_workers == 2


@needs_fork
def test_an_error_that_cannot_be_pickled_becomes_a_sentence(hire: Hire) -> None:
    with pytest.raises(TypeError):
        pickle.loads(pickle.dumps(Odd(1, 2)))
    with pytest.raises(TranslationError, match=r"a worker process failed: Odd: 1 and 2$"):
        hire().submit(fail, ["odd"]).result()


# --- batches that need too much ---


def need_memory(engine: Engine, numbers: list[int], most: int) -> list[int]:
    """Ask for more memory than any machine has if there are more than `most` items, or if 99 is among them."""
    if len(numbers) > most or 99 in numbers:
        torch.empty(1 << 55, dtype=torch.uint8)
    return doubled(engine, numbers)


@forms
def test_a_batch_that_does_not_fit_into_memory_is_done_in_halves(hire: Hire, said: list[str], forks: bool) -> None:
    workers = hire(forks)
    assert workers.submit(partial(need_memory, most=3), list(range(9))).result() == [2 * i for i in range(9)]
    with pytest.raises(TranslationError, match=r"^a sentence alone needs more memory than there is .*--beam-size"):
        workers.submit(partial(need_memory, most=3), [1, 2, 99, 4]).result()
    (message,) = said
    assert message.startswith("warning: memory ran out for a batch, which is done again in halves; use fewer worke")
    assert workers.n_workers == 2


# --- workers that die ---


@needs_fork
@pytest.mark.parametrize(
    ("signum", "reason"),
    [
        (signal.SIGKILL, r"was killed \(SIGKILL\), most likely because memory ran out; the work goes on; "),
        (signal.SIGUSR1, r"ended unexpectedly \(SIGUSR1\)"),  # unlike SIGABRT, it leaves no dump of all memory
    ],
)
def test_the_batch_of_a_killed_worker_is_done_again_in_halves(
    hire: Hire, said: list[str], signum: int, reason: str
) -> None:
    workers = hire(n_workers=2)
    work = partial(killed_by, deadly=-1, most=4, signum=signum)
    tasks = [workers.submit(work, list(range(n))) for n in (9, 3)]
    assert [task.result() for task in tasks] == [[2 * i for i in range(n)] for n in (9, 3)]
    assert workers.n_workers == 1
    (message,) = said
    assert re.search(f"^warning: a worker process {reason}", message)
    assert message.endswith("use fewer workers (--workers) or smaller batches (--max-batch-tokens)")


@needs_fork
def test_an_item_that_ends_every_worker_is_named(hire: Hire) -> None:
    workers = hire(n_workers=2)
    sentences = [Sentence([number], number=number) for number in range(12)]
    with pytest.raises(TranslationError, match=r"^line 8 ended two worker processes: the last one was killed \(SIGKI"):
        workers.submit(partial(killed_by_line, number=7), sentences).result()
    assert workers.submit(doubled, [1]).result() == [2]


def killed_by_line(engine: Engine, sentences: list[Sentence], number: int) -> list[None]:
    if number in [sentence.number for sentence in sentences]:
        os.kill(os.getpid(), signal.SIGKILL)
    return [None for _ in sentences]


@needs_fork
def test_idle_workers_that_are_killed_are_noticed_and_replaced_if_none_is_left(hire: Hire, said: list[str]) -> None:
    workers = hire()
    before = children()
    workers.start()
    for n_left in (1, 0):
        os.kill(running(children() - before).pop(), signal.SIGKILL)
        until(lambda n=n_left: len(running(children() - before)) == n)  # type: ignore[misc]
    assert workers.submit(doubled, [4, 5]).result() == [8, 10]
    assert workers.n_workers == 1
    assert len(said) == 1 and "worker process was killed (SIGKILL), most likely because memory ran out" in said[0]


@contextmanager
def another_thread() -> Iterator[None]:
    """While it lives, it is too late to fork."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, args=(60,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@needs_fork
def test_what_ended_a_process_is_not_done_in_this_one(hire: Hire) -> None:
    workers = hire(n_workers=1)
    workers.start()
    with another_thread():
        with pytest.raises(TranslationError, match=r"^a sentence or one after it ended a worker process; use fewer"):
            workers.submit(partial(killed_by, deadly=2, most=9, signum=signal.SIGKILL), [1, 2, 3]).result()
        assert workers.submit(doubled, [4]).result() == [8]


@needs_fork
def test_when_it_is_too_late_to_fork_threads_take_over(hire: Hire) -> None:
    workers = hire()
    before = children()
    workers.start()
    with another_thread():
        for worker in children() - before:
            os.kill(worker, signal.SIGKILL)
        until(lambda: not running(children() - before))
        assert workers.submit(process_id, [None]).result() == [os.getpid()]


def running(processes: set[int]) -> set[int]:
    return {process for process in processes if lives(process)}


@needs_fork
def test_processes_end_when_their_parent_is_killed_though_another_child_holds_its_connection(tmp_path: Path) -> None:
    (tmp_path / "together").mkdir()
    (tmp_path / "program.py").write_text(f"""
import os, signal, time
from pathlib import Path
from tests.translation.engines.test_workers import engine, process_id_of_two, wait_for_file
from seq2seq.translation.engines.workers import Workers
folder = Path({str(tmp_path)!r})
workers = Workers(engine(forks=True))
tasks = [workers.submit(process_id_of_two, [folder / "together"]) for _ in range(2)]
numbers = [task.result()[0] for task in tasks]
workers.submit(wait_for_file, [folder / "end"])  # one is busy and one idle
while not (folder / "end.begun").exists():
    time.sleep(0.01)
holder = os.fork()
if holder == 0:
    time.sleep(600)
print(holder, *numbers, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
""")
    done = run_warm([str(tmp_path / "program.py")], env=os.environ, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    holder, *numbers = map(int, done.stdout.split())
    assert len(set(numbers)) == 2
    try:
        until(lambda: not running(set(numbers)))
        assert lives(holder)
    finally:
        os.kill(holder, signal.SIGKILL)


@needs_fork
def test_workers_that_nobody_closed_end_with_their_owner(hire: Hire) -> None:
    before = children()
    workers = Workers(engine(forks=True))
    workers.start()
    assert len(children() - before) == 2
    del workers
    gc.collect()
    until(lambda: not running(children() - before))
