"""Workers that something else kills: the kernel, earlyoom, a person."""

import os
import signal
from pathlib import Path

import pytest

from tests.faults.programs import Program, lives, until
from tests.faults.signals_in_pairs import Pairs
from tests.translating import sentences

pytestmark = pytest.mark.slow

SENTENCES = [(source, target) for source, target in sentences(20) if len(source.split()) < 6]


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM], ids=["KILL", "TERM"])
def test_a_busy_worker_that_is_killed_costs_no_line(pairs: Pairs, tmp_path: Path, signum: int) -> None:
    with Program(*pairs.options, "--output", tmp_path / "out") as program:
        worker, other = program.await_workers()
        until(lambda: is_busy(worker))
        os.kill(worker, signum)
        assert program.status() == 0, program.told
    name = signal.Signals(signum).name
    message = f"warning: a worker process was killed ({name}), most likely because memory ran out; its batch is done"
    assert program.told.count("worker process") == program.told.count(message) == 1, program.told
    assert (tmp_path / "out").read_bytes() == pairs.whole
    assert not lives(other)


@pytest.mark.parametrize(("n_killed", "signum"), [(1, signal.SIGTERM), (2, signal.SIGKILL)], ids=["TERM", "KILL"])
def test_idle_workers_that_are_killed_cost_no_line(trained_run: Path, n_killed: int, signum: int) -> None:
    with Program("--model", trained_run) as program:
        workers = program.await_workers()
        for worker in workers[:n_killed]:
            os.kill(worker, signum)
        until(lambda: not any(map(lives, workers[:n_killed])))
        for source, target in SENTENCES[:3]:
            program.give(f"{source}\n")
            assert program.line() == target
        assert program.end() == (0, "")
    message = f"worker process was killed ({signal.Signals(signum).name})"  # idle, or given work before that was seen
    assert program.told.count("worker process") == program.told.count(message) == 1, program.told


def is_busy(process: int) -> bool:
    """Whether it has worked for a while, so that a batch is in its hands."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[11:13]
    return int(user) + int(system) >= 0.1 * os.sysconf("SC_CLK_TCK")
