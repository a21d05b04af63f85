import platform
from ctypes.util import find_library

import pytest

from seq2seq.training.trainer import HeapTrimming
from tests.training.tiny_runs import command, tiny_config, train_with

# Thirty holes of 8 MB, each between tensors that stay. They are too large for a gap that the imports left, so that no
# holes become one with the free memory at the end of the heap, which is kept.
HOLES = """
import resource
import torch
from seq2seq.dataset.batches import Step
from seq2seq.hardware import keep_freed_memory
from seq2seq.training.trainer import BATCHES_BETWEEN_TRIMS, HeapTrimming

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6

def freed_after(n_batches):
    for _ in range(n_batches):
        trimming.on_train_batch_end(None, None, None, Step([None]), 0)
    return full - resident()

trimming = HeapTrimming()
keep_freed_memory()
pairs = [(torch.ones(1 << 21), torch.ones(1 << 18)) for _ in range(30)]
kept = [small for _, small in pairs]
full = resident()
del pairs
print(freed_after(0), freed_after(BATCHES_BETWEEN_TRIMS - 1), freed_after(1))
assert all(bool((small == 1).all()) for small in kept)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's heap")
@pytest.mark.parametrize("allocator", ["", "jemalloc"])
def test_holes_are_kept_for_the_next_steps_and_then_given_back(tmp_path, allocator):
    environment = {}
    if allocator:
        if not (library := find_library(allocator)):
            pytest.skip(f"{allocator} is not installed")
        environment = {"LD_PRELOAD": library, "MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}
    script = tmp_path / "holes.py"
    script.write_text(HOLES)
    done = command(script=script, env=environment, is_fresh=True)
    assert done.returncode == 0, done.stderr
    when_freed, before, at_a_trim = map(float, done.stdout.split())
    assert max(when_freed, before) < 8.4 < 0.9 * 30 * 8.4 < at_a_trim  # MB


def test_a_run_on_a_cpu_trims_its_heap(corpus, tmp_path, monkeypatch):
    ends_of_batches = []
    monkeypatch.setattr(HeapTrimming, "on_train_batch_end", lambda *args: ends_of_batches.append(args[-1]))
    train_with(tiny_config(corpus, tmp_path / "run", {"trainer.max_steps": 3}))
    assert ends_of_batches == [0, 1, 2]
