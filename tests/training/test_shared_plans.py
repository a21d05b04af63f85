"""One process of a machine makes the plan of an epoch, and all have it."""

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributed import HashStore  # type: ignore[attr-defined]

from seq2seq.dataset.plan import Plan, plan_epoch
from seq2seq.training import shared_plans
from seq2seq.training.ranks import OwnProcesses, Ranks
from seq2seq.training.shared_plans import SharedPlans
from tests.training.tiny_runs import TINY, checkpoint
from tests.training.two_ranks import train_together

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory without a name")

# Every plan is large, and each process notes its rank when it makes one.
SHARING = """
from pathlib import Path
from seq2seq.dataset import plan_ahead
from seq2seq.dataset.batches import BatchLoader

make_plan = BatchLoader._make_plan

def noting(loader, epoch):
    with open(Path(os.environ["NOTES"]), "a") as file:
        file.write(f"epoch {epoch} by {loader.rank}\\n")
    return make_plan(loader, epoch)

plan_ahead.LARGE = 1
BatchLoader._make_plan = noting
"""


class Plans:
    """Plans of some pairs, or of some slots with other pairs, and the epochs that were begun and made."""

    def __init__(self, *, has_slots: bool = False) -> None:
        rng = np.random.default_rng(1)
        self.lengths = rng.integers(1, 12, (2, 90))
        self.pairs = rng.permutation(90).astype(np.int32) + 5 if has_slots else None
        self.begun: list[int] = []
        self.made: list[int] = []

    def of(self, epoch: int) -> Plan:
        self.made.append(epoch)
        plan = plan_epoch(self.lengths[0], self.lengths[1], max_tokens=50, seed=2, epoch=epoch)
        return plan if self.pairs is None else plan.with_pairs(self.pairs)

    def begin(self, epoch: int) -> None:
        self.begun.append(epoch)


def as_lists(plan: Plan) -> list[tuple[list[int], list[int], list[int]]]:
    lengths = plan.longest.tolist()
    return [(rows.slots.tolist(), rows.pairs.tolist(), longest) for rows, longest in zip(plan, lengths, strict=True)]


def of_two_processes(made_by: list[Plans], epochs: list[int]) -> tuple[list[Plan], list[Plan]]:
    """What two processes of one machine have; each of them is a thread here."""
    store = HashStore()
    shared = [SharedPlans(made_by[i], Ranks(i, 2, OwnProcesses(local_rank=i), store)) for i in range(2)]
    had: tuple[list[Plan], list[Plan]] = ([], [])

    def ask(i: int) -> None:
        for epoch in epochs:
            had[i].append(shared[i].of(epoch))
            shared[i].begin(epoch + 1)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return had


@linux
@pytest.mark.parametrize("has_slots", [False, True])
def test_the_first_process_makes_each_plan_and_the_other_maps_it(has_slots):
    before = n_open_files()
    plans = [Plans(has_slots=has_slots), Plans(has_slots=has_slots)]
    first, second = of_two_processes(plans, [0, 3, 3])
    assert plans[0].made == [0, 3, 3] and plans[1].made == []
    assert plans[0].begun == [1, 4, 4] and plans[1].begun == []
    for epoch, ours, theirs in zip([0, 3, 3], first, second, strict=True):
        assert as_lists(ours) == as_lists(theirs) == as_lists(Plans(has_slots=has_slots).of(epoch))
        assert not theirs.slots.flags.writeable and theirs.slots.dtype == np.int32
        assert (theirs.slots is theirs.pairs) == (not has_slots)
        assert len(memories_of(theirs)) == 1 and memories_of(ours) != memories_of(theirs)
    del ours, theirs
    first.clear()
    second.clear()
    assert n_open_files() == before
    assert "memfd" not in Path("/proc/self/maps").read_text()


def n_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def memories_of(plan: Plan) -> set[int]:
    """Where the arrays of a plan are mapped."""
    bases = []
    for array in (plan.spans, plan.longest, plan.slots, plan.pairs):
        while isinstance(array.base, np.ndarray):
            array = array.base
        bases.append(id(array.base))
    return set(bases)


def test_a_system_without_such_memory_lets_each_process_make_its_plans(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    plans = [Plans(), Plans()]
    first, second = of_two_processes(plans, [0, 1])
    assert plans[0].made == plans[1].made == [0, 1]
    assert list(map(as_lists, first)) == list(map(as_lists, second))


@linux
def test_memory_of_another_process_is_not_taken_for_a_plan():
    """In a container a number of a process may mean another one, or none."""
    with shared_plans._in_shared_memory(Plans().of(0)) as (place, plan):
        assert place is not None
        mapped = shared_plans._mapped(place)
        assert mapped is not None and as_lists(mapped) == as_lists(plan)
        device, inode = place.device_and_inode
        assert shared_plans._mapped(place._replace(device_and_inode=(device, inode + 1))) is None
        assert shared_plans._mapped(place._replace(path=Path("/proc/0/fd/1"))) is None
    assert shared_plans._mapped(place) is None  # it is closed now


@linux
def test_two_processes_with_one_plan_train_as_with_two(corpus, tmp_path):
    """Also with data workers, and with slots that hold other pairs in each epoch."""
    notes = tmp_path / "notes"
    before = f"{SHARING}\nos.environ['NOTES'] = {str(notes)!r}\n"
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "batch.n_workers": 1}
    keys |= {"data.train": "[{source: train, weight: 0.1}, valid]", "data.test": "null", "trainer.devices": 2}
    keys |= {"tokenizer.subword_regularization": 0.2, "data.augment.join": 0.3}
    keys |= {"trainer.average_last": 0, "decoding.beam_size": 1}
    words = ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]
    for name, first_words in (("alone", ""), ("shared", before)):
        done = train_together(tmp_path, *words, f"run_dir={tmp_path / name}", before=first_words)
        assert done.returncode == 0, done.stderr
    assert set(notes.read_text().splitlines()) == {f"epoch {epoch} by 0" for epoch in range(3)}
    alone, shared = (checkpoint(tmp_path / name) for name in ("alone", "shared"))
    assert (
        alone["position"] == shared["position"] and shared["position"]["n_done"] > shared["position"]["steps_per_epoch"]
    )
    for name, weight in alone["state_dict"].items():
        assert torch.equal(weight, shared["state_dict"][name]), name
