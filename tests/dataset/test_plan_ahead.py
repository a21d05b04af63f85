"""Plans that are made ahead are those that are made when they are asked for, and no error is lost."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

from seq2seq.config import BatchConfig
from seq2seq.dataset import plan_ahead
from seq2seq.dataset.batches import BatchLoader
from seq2seq.dataset.plan import Plan
from seq2seq.dataset.plan_ahead import LARGE, PlansAhead
from tests.dataset.epochs import micro_batches
from tests.dataset.test_batches import some_pairs
from tests.places import ROOT


class Maker:
    """Makes plans of one batch, and notes which ones and in which thread."""

    def __init__(self, *fails):
        self.fails, self.made, self.threads = fails, [], []

    def __call__(self, epoch):
        self.made.append(epoch)
        self.threads.append(threading.current_thread())
        if epoch in self.fails:
            raise MemoryError(f"of epoch {epoch}")
        slots = np.array([epoch])
        return Plan(slots, slots, np.array([[0, 1]]), np.array([[5, 7]]))


def test_a_large_plan_is_made_by_another_thread_before_it_is_asked_for():
    make = Maker()
    plans = PlansAhead(make, LARGE)
    assert plans.of(0).slots == 0
    plans.begin(1)
    begun = plans._pending
    plans.begin(1)
    assert plans._pending is begun
    assert plans.of(1).slots == 1
    assert make.made == [0, 1]
    assert [thread is threading.main_thread() for thread in make.threads] == [True, False]
    assert plans.of(1).slots == 1 and make.made == [0, 1, 1]


def test_a_small_plan_is_made_when_it_is_asked_for():
    make = Maker()
    plans = PlansAhead(make, LARGE - 1)
    plans.begin(1)
    assert make.made == []
    assert plans.of(1).slots == 1 and make.threads == [threading.main_thread()]


def test_another_plan_than_the_one_begun_is_made_and_no_thread_is_left():
    make = Maker(5)
    plans = PlansAhead(make, LARGE)
    plans.begin(5)
    assert plans.of(3).slots == 3  # nobody needs number 5, so its error is nobody's
    assert make.made == [5, 3]
    make.threads[0].join(60)  # it has handed over its plan, and is about to end
    assert not make.threads[0].is_alive()
    plans.begin(4)
    assert plans.of(4).slots == 4


def test_an_error_of_the_thread_is_raised_where_the_plan_is_asked_for():
    plans = PlansAhead(Maker(1), LARGE)
    plans.begin(1)
    with pytest.raises(MemoryError, match="of epoch 1"):
        plans.of(1)
    plans.begin(2)
    assert plans.of(2).slots == 2


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [0, 1])
def test_batches_are_the_same_however_their_plans_are_made(monkeypatch, n_workers):
    pairs, config = some_pairs(100), BatchConfig(max_tokens=60, accumulate=2, n_workers=n_workers)
    alone = BatchLoader(pairs, config, seed=5)
    expected = [[batch.src for batch in micro_batches(alone)] for _ in range(3)]
    planned: list[int] = []
    make_plan = BatchLoader._make_plan

    def noting(loader, epoch):
        planned.append(epoch)
        return make_plan(loader, epoch)

    monkeypatch.setattr(plan_ahead, "LARGE", 1)
    monkeypatch.setattr(BatchLoader, "_make_plan", noting)
    ahead = BatchLoader(pairs, config, seed=5)
    for epoch in range(3):
        assert all(map(torch.equal, [batch.src for batch in micro_batches(ahead)], expected[epoch]))
    ahead.n_done = len(ahead) + 2
    assert all(map(torch.equal, [batch.src for batch in micro_batches(ahead)], expected[1][4:]))
    assert all(map(torch.equal, [batch.src for batch in micro_batches(ahead)], expected[2]))
    assert planned[:6] == [0, 1, 2, 3, 1, 2] and planned[6:] in ([], [3])  # the last one may still be in the making


ENDLESS = """
import sys, threading, time
import numpy as np
from seq2seq.dataset.plan_ahead import LARGE, PlansAhead

is_made = threading.Event()

def make(epoch):
    print("begun", flush=True)
    is_made.set()
    while True:
        np.random.default_rng(0).permutation(10**6)

PlansAhead(make, LARGE).begin(1)
is_made.wait()
if sys.argv[1] == "signal":
    time.sleep(600)
raise SystemExit(3)
"""


@pytest.mark.parametrize(("how", "status"), [("exit", 3), ("signal", -signal.SIGTERM)])
def test_a_process_ends_while_a_plan_is_made(how, status):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, how], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        if how == "signal":
            process.terminate()
        try:
            _, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (process.returncode, err) == (status, "")
