"""A gradient that is not finite: one costs a step, many take the run back or end it. (And see test_rollback.py.)"""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError
from seq2seq.training import divergence as module
from seq2seq.training.module import TranslationModule
from tests.training.tiny_runs import checkpoint, tiny_config, train_with, values_of

pytestmark = pytest.mark.slow


class Spoil(pl.Callback):
    """Makes the gradients of some steps infinite, and keeps weights and state of the optimizer after each step."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps
        self.after: dict[int, tuple[Any, Any]] = {}

    def on_after_backward(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, TranslationModule)
        if pl_module.n_steps + 1 in self.steps:
            for parameter in pl_module.parameters():
                if parameter.grad is not None:
                    parameter.grad.fill_(math.inf)

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        assert isinstance(pl_module, TranslationModule)
        state = trainer.optimizers[0].state_dict()["state"]
        self.after[pl_module.n_steps] = copy.deepcopy((pl_module.state_dict(), state))


PLAIN_END = {"trainer.average_last": 0, "data.test": None, "decoding.beam_size": 1}


@pytest.mark.parametrize("optimizer", ["adamw", pytest.param("muon", marks=pytest.mark.nightly)])
def test_a_step_with_an_infinite_gradient_changes_nothing_and_is_counted(
    corpus: Path, tmp_path: Path, optimizer: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SKIPPED", 3)  # in a row
    spoil = Spoil(4, 5, 9)
    changes = PLAIN_END | {"trainer.max_steps": 10, "optim.optimizer": optimizer}
    config = tiny_config(corpus, tmp_path / "run", changes)
    train_with(config, spoil)
    for before, after, is_same in ((3, 4, True), (4, 5, True), (5, 6, False), (8, 9, True), (9, 10, False)):
        (weights, state), (weights_after, state_after) = spoil.after[before], spoil.after[after]
        assert all(torch.equal(weights_after[name], w) for name, w in weights.items()) == is_same
        for key, values in state.items():
            for name, value in values.items():
                assert not is_same or torch.equal(torch.as_tensor(value), torch.as_tensor(state_after[key][name]))
    skipped = values_of(config.run_dir, "train/skipped_steps")
    assert list(skipped.items())[:2] == [(4, 1), (5, 2)] and skipped[10] == 3
    assert caplog.text.count("is skipped: its gradient is not finite") == 3
    assert checkpoint(config.run_dir)["skipped"] == [3, 0]


def test_many_in_a_row_end_a_run_that_cannot_go_back_and_what_is_saved_is_good(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SKIPPED", 5)
    changes = {"trainer.val_every_n_steps": 6, "trainer.max_rollbacks": 3}  # no window has ended
    config = tiny_config(corpus, tmp_path / "run", changes)
    message = r"^training has diverged: .* up to step 8, were not finite, after 0 of 3 rollbacks; start"
    with pytest.raises(RunError, match=message):
        train_with(config, Spoil(*range(4, 4 + 5)))
    saved = checkpoint(config.run_dir)
    assert saved["global_step"] == 6
    (start,) = RunDirectory(tmp_path / "run").provenance()["starts"]
    assert start["ended"].startswith("after step 8: training has diverged: ")
    assert all(weight.isfinite().all() for weight in saved["state_dict"].values())
