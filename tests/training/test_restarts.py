"""A run of four processes that is started again ends with the same bits. Two would agree in any order of sums."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.launching import free_port
from tests.training.tiny_runs import arguments, checkpoint, command

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="gloo on this system is not tested")]

# As a launcher of one's own, which imports only once what all processes need.
FOUR = """
import os
from seq2seq.cli import front_door

others = []
for rank in range(1, 4):
    if (pid := os.fork()) == 0:
        break
    others.append(pid)
else:
    rank = 0
os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4"}
try:
    front_door("train")
finally:
    for pid in others if rank == 0 else []:
        os.waitpid(pid, 0)
"""
CHANGES: dict[str, Any] = {
    "trainer.max_epochs": 0,
    "trainer.max_steps": 2,
    "trainer.val_every_n_steps": 1,
    "batch.max_tokens": 80,
    "batch.accumulate": 2,
}
SUMMING = ["ddp", *(["fsdp"] if "CLUSTER" in os.environ else [])]


@pytest.mark.parametrize("strategy", SUMMING)
def test_four_processes_that_are_started_again_go_on_to_the_bit(corpus: Path, tmp_path: Path, strategy: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(FOUR)

    def train(*words: str) -> None:
        env = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        done = command(*words, script=script, env=env)
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
