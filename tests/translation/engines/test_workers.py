"""Batches side by side, in threads and in forked processes."""

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.errors import TranslationError
from seq2seq.translation.engines import load as loading
from seq2seq.translation.engines.protocol import Engine, Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.engines.workers import Workers, result_of
from tests.places import ROOT
from tests.translation.engines.models import random_model

BEAM = DecodingConfig(beam_size=3, n_best=3, max_length_a=1.0, max_length_b=5)
SENTENCES = [Sentence([4 + (7 * i + j) % 300 for j in range(1 + i % 9)], number=i) for i in range(24)]

needs_fork = pytest.mark.skipif(not loading.CAN_FORK, reason="workers are forked on Linux only")


def engine(forks: bool, n_workers: int = 2) -> PyTorchEngine:
    return PyTorchEngine([random_model(seed=3, end_bonus=3.0)], torch.device("cpu"), "float32", n_workers, 1, forks)


@pytest.fixture
def processes() -> Iterator[Workers]:
    workers = Workers(engine(forks=True))
    yield workers
    workers.close()


def search(engine: Engine, sentence: Sentence) -> list[Hypothesis]:
    return engine.decode([sentence], BEAM)[0]


def process_id(engine: Engine, pause_s: float) -> int:
    time.sleep(pause_s)
    return os.getpid()


def fail(engine: Engine) -> None:
    raise TranslationError("not enough memory")


def kill_itself(engine: Engine) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt_itself(engine: Engine) -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "still here"


@needs_fork
def test_processes_find_what_threads_find(processes: Workers) -> None:
    threads = Workers(engine(forks=False))
    in_threads = [threads.submit(search, sentence) for sentence in SENTENCES]
    in_processes = [processes.submit(search, sentence) for sentence in SENTENCES]
    assert [result_of(each) for each in in_processes] == [result_of(each) for each in in_threads]
    threads.close()


@needs_fork
def test_there_are_as_many_processes_as_workers(processes: Workers) -> None:
    found = {result_of(each) for each in [processes.submit(process_id, 0.2) for _ in range(4)]}
    assert len(found) == 2
    assert os.getpid() not in found


def test_threads_stay_in_this_process() -> None:
    threads = Workers(engine(forks=False))
    assert result_of(threads.submit(process_id, 0)) == os.getpid()
    threads.close()


@needs_fork
def test_errors_of_a_process_arrive_as_they_are(processes: Workers) -> None:
    with pytest.raises(TranslationError, match=r"^not enough memory$"):
        result_of(processes.submit(fail))


@needs_fork
def test_a_killed_process_is_an_error_that_says_what_to_do(processes: Workers) -> None:
    with pytest.raises(TranslationError, match=r"a worker process was killed.*use fewer workers"):
        result_of(processes.submit(kill_itself))


@needs_fork
def test_an_interrupt_is_left_to_the_parent(processes: Workers) -> None:
    assert result_of(processes.submit(interrupt_itself)) == "still here"


class OfTheParent:
    """Garbage of a kind that ends a process which did not make it, as threads of C++ do."""

    def __init__(self) -> None:
        self.process, self.itself = os.getpid(), self

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(1)


def collect(engine: Engine) -> int:
    return gc.collect()


@needs_fork
def test_a_process_leaves_the_garbage_of_its_parent_alone(processes: Workers) -> None:
    gc.disable()
    try:
        OfTheParent()
        result_of(processes.submit(collect))
    finally:
        gc.enable()


@pytest.mark.slow
@needs_fork
def test_processes_end_when_their_parent_is_killed() -> None:
    program = """
import os, signal
from tests.translation.engines.test_workers import engine, process_id
from seq2seq.translation.engines.workers import Workers, result_of
workers = Workers(engine(forks=True))
print(*{result_of(each) for each in [workers.submit(process_id, 0.2) for _ in range(4)]}, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL
    numbers = [int(word) for word in done.stdout.split()]
    assert len(numbers) == 2
    deadline_s = time.monotonic() + 20
    while (left := [number for number in numbers if is_running(number)]) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not left


def is_running(number: int) -> bool:
    """A process that has ended may stay listed until somebody asks for its status."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_work_that_has_not_begun_is_forgotten() -> None:
    workers = Workers(engine(forks=False, n_workers=1))
    futures = [workers.submit(process_id, 0.1) for _ in range(20)]
    workers.close()
    assert sum(future.cancelled() for future in futures) > 10
