"""A run of several processes that is started again ends with the same bits."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch.nn.parallel import DistributedDataParallel

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.tiny_runs import arguments, checkpoint, tiny_config, train_with
from tests.training.two_ranks import train_together

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="gloo on this system is not tested")

CHANGES: dict[str, Any] = {
    "trainer.max_epochs": 0,
    "trainer.max_steps": 2,
    "trainer.val_every_n_steps": 1,
    "batch.max_tokens": 80,
    "batch.accumulate": 2,
}


class OrderOfGradients(pl.Callback):
    """Notes whether DDP had its last order of gradients before it had seen the second batch."""

    is_early = False

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        ddp = trainer.strategy.model
        assert isinstance(ddp, DistributedDataParallel)
        if batch_idx == 1:
            self.is_early = bool(ddp._get_ddp_logging_data()["has_rebuilt_buckets"])  # noted before each batch


def test_the_order_in_which_gradients_are_summed_is_settled_before_the_first_step(corpus: Path, tmp_path: Path) -> None:
    """DDP makes it anew after the first backward pass. It decides about the bits where three processes or more sum."""
    order = OrderOfGradients()
    changes = {"trainer.max_steps": 2, "trainer.max_epochs": 0, "trainer.strategy": "ddp", "data.test": None}
    train_with(tiny_config(corpus, tmp_path / "run", changes), order)
    assert order.is_early


@pytest.mark.slow
@pytest.mark.nightly
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
