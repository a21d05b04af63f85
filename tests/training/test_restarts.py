"""A run of four processes that is started again ends with the same bits. Two would agree in any order of sums.

tests/training/test_distributed.py looks at the order.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.tiny_runs import arguments, checkpoint
from tests.training.two_ranks import train_together

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="gloo on this system is not tested"),
]

CHANGES: dict[str, Any] = {
    "trainer.max_epochs": 0,
    "trainer.max_steps": 2,
    "trainer.val_every_n_steps": 1,
    "batch.max_tokens": 80,
    "batch.accumulate": 2,
}


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_four_processes_that_are_started_again_go_on_to_the_bit(corpus: Path, tmp_path: Path, strategy: str) -> None:
    def train(*words: str) -> None:
        done = train_together(tmp_path, *words, n=4)
        assert done.returncode == 0, done.stderr

    parts, whole = tmp_path / "parts", tmp_path / "whole"
    train(*arguments(corpus, whole, CHANGES | {"trainer.strategy": strategy}))
    shutil.copytree(whole, parts)
    for later in (RunDirectory(parts).last, RunDirectory(parts).previous):
        later.unlink()
    (parts / "checkpoints/good-00000001.ckpt").rename(RunDirectory(parts).last)
    assert (checkpoint(parts)["global_step"], checkpoint(parts)["position"]["world_size"]) == (1, 4)
    train(f"resume={parts}")
    ours, theirs = checkpoint(parts), checkpoint(whole)
    assert ours["global_step"] == 2
    weights = theirs["state_dict"].items()
    assert not [name for name, weight in weights if not torch.equal(ours["state_dict"][name], weight)]
