"""A run that has diverged goes back to a good state and goes on with a lower rate.

An epoch has 9 steps here, and the run validates and saves after each. Windows have 3 steps, and two bad ones make a
divergence. So a run that is derailed after step 13 goes back at step 18. The state of step 9 is good, since the steps
up to 12 were good.
"""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.precision import MixedPrecision

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.errors import CheckpointError, RunError
from seq2seq.training import divergence
from seq2seq.training.divergence import LossWatch
from seq2seq.training.optimizer import learning_rate
from seq2seq.training.processes import TrainingInterrupted
from tests.training.test_divergence import Spoil
from tests.training.test_resume import Crash, metrics, plain
from tests.training.tiny_runs import (
    SignalAt,
    arguments,
    callback_states,
    checkpoint,
    tiny_config,
    train_with,
    values_of,
)
from tests.training.two_ranks import needs_gloo, train_together

# Each process is derailed, and writes down the weights that it has at the end.
DERAILED = """
import torch
from seq2seq.training.divergence import LossWatch
from seq2seq.training.module import TranslationModule

LossWatch.window, LossWatch.most_bad = 3, 2

def derail(self, batch, batch_idx):
    if self.n_steps == 13:
        for parameter in self.parameters():
            parameter.data.mul_(30)

def note(self):
    torch.save(self.state_dict(), f"{self.config.run_dir}/rank{self.global_rank}")

TranslationModule.on_train_batch_start, TranslationModule.on_train_end = derail, note
"""

CHANGES: dict[str, Any] = {
    "batch.max_tokens": 260,
    "data.test": None,
    "decoding.beam_size": 1,
    "trainer.max_epochs": 3,
    "trainer.ema_decay": 0.9,
    "trainer.max_time": "00:01:00:00",
}


@pytest.fixture(autouse=True)
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LossWatch, "window", 3)
    monkeypatch.setattr(LossWatch, "most_bad", 2)


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four steps without a finite gradient are enough."""
    monkeypatch.setattr(divergence, "MOST_SKIPPED", 4)


class Derail(pl.Callback):
    """Spoils the weights after some steps, so that the loss is finite and does not come back."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        if pl_module.n_steps in self.steps:
            for parameter in pl_module.parameters():
                parameter.data.mul_(30)


def names(run_dir: Path | str, pattern: str) -> list[str]:
    return sorted(file.stem for file in (Path(run_dir) / "checkpoints").glob(pattern))


def stop_at(config: RunConfig, step: int, *callbacks: pl.Callback, resume: bool = False) -> None:
    with pytest.raises(TrainingInterrupted):
        train_with(config, *callbacks, SignalAt(step), resume=resume)


def test_the_run_goes_back_to_weights_moments_and_averages_and_halves_its_rate(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"optim.optimizer": "muon"})
    stop_at(config, 18, Derail(13))
    assert "did not come back for 6 steps, up to step 18; the run goes on from its state of step 9" in caplog.text
    assert "with 0.5 of the planned learning rate (rollback 1 of 3)" in caplog.text
    last, good = checkpoint(config.run_dir), checkpoint(config.run_dir, "good-00000009.ckpt")
    assert (last["global_step"], last["rollbacks"], last["position"]["n_done"]) == (18, 1, 18)
    assert plain(last["state_dict"], "") == plain(good["state_dict"], "")
    state, good_state = last["optimizer_states"][0], good["optimizer_states"][0]
    assert plain(state["state"], "") == plain(good_state["state"], "")
    averages, good_averages = (each["callbacks"]["ExponentialAverage"] for each in (last, good))
    assert plain(averages["weights"], "") == plain(good_averages["weights"], "")
    rate = learning_rate(19, config.optim, 0) / 2
    assert last["next_rate"] == rate
    train_with(config, resume=True)
    rates = values_of(config.run_dir, "train/lr")
    assert rates[18] == pytest.approx(learning_rate(18, config.optim, 0))
    assert [rates[step] for step in (19, 27)] == pytest.approx(
        [learning_rate(s, config.optim, 0) / 2 for s in (19, 27)]
    )
    assert values_of(config.run_dir, "train/rollbacks") == dict.fromkeys(range(19, 28), 1.0)
    losses = [each.step for each in RunDirectory(Path(config.run_dir)).metrics() if each.name == "train/loss"]
    assert losses == list(range(1, 28))
    loss = values_of(config.run_dir, "train/loss")
    assert loss[14] > 10 and max(loss[step] for step in range(19, 28)) < max(loss[step] for step in range(5, 14)) + 1


class Fp16(pl.Callback):
    """What Lightning uses for 16-mixed, which it refuses on CPUs."""

    def setup(self, trainer: pl.Trainer, *args: Any, **more: Any) -> None:
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**9, growth_interval=4)
        trainer.strategy._precision_plugin = MixedPrecision("16-mixed", "cpu", scaler)


@pytest.mark.nightly
def test_the_scale_of_fp16_goes_back_too(corpus: Path, tmp_path: Path, little_patience: None) -> None:
    """Each gradient that is not finite halves it, and it would take many steps to get it back."""
    changes = {"trainer.precision": "16-mixed", "trainer.max_steps": 17}
    config = tiny_config(corpus, tmp_path / "run", CHANGES | changes)
    train_with(config, Fp16(), Derail(13))
    last, good = checkpoint(config.run_dir), checkpoint(config.run_dir, "good-00000009.ckpt")
    assert (last["global_step"], last["rollbacks"], last["skipped"]) == (17, 1, [4, 0])
    assert last["MixedPrecision"] == good["MixedPrecision"] and good["MixedPrecision"]["scale"] == 2.0**11


def test_a_run_that_dies_around_a_rollback_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    """Before it goes back, so that it does so once more, and right afterwards."""
    run_dir, whole_dir, until_20 = tmp_path / "run", tmp_path / "whole", CHANGES | {"trainer.max_steps": 20}
    train_with(tiny_config(corpus, whole_dir, until_20), Derail(13))
    config = tiny_config(corpus, run_dir, until_20)
    for step, saved in ((18, 9), (19, 18)):
        with pytest.raises(RuntimeError, match="power cut"):
            train_with(config, Derail(13), Crash(step), resume=step > 18)
        assert checkpoint(config.run_dir)["global_step"] == saved
    train_with(config, resume=True)
    last, whole = checkpoint(run_dir), checkpoint(whole_dir)
    for key in ("state_dict", "optimizer_states", "global_step", "rollbacks", "position"):
        assert plain(last[key], "") == plain(whole[key], ""), key
    for name, state in callback_states(whole).items():
        assert plain(callback_states(last)[name], run_dir) == plain(state, whole_dir), name
    assert metrics(run_dir) == metrics(whole_dir)
    for pattern in ("good-*", "recent-*"):
        assert names(run_dir, pattern) == names(whole_dir, pattern)
    assert (run_dir / "selection.json").read_bytes() == (whole_dir / "selection.json").read_bytes()


def test_what_was_validated_in_the_trouble_is_forgotten(corpus: Path, tmp_path: Path) -> None:
    """Neither does it end the run by patience, nor are its weights averaged at the end, nor is its state good."""
    good = []

    class Note(pl.Callback):
        def on_train_batch_start(self, trainer: pl.Trainer, *args: Any) -> None:
            good.append(RunDirectory(tmp_path / "run").good())

    changes = CHANGES | {"trainer.val_every_n_steps": 2, "trainer.patience": 3, "trainer.monitor": "valid/loss"}
    changes |= {"trainer.max_steps": 22, "trainer.average_last": 3, "trainer.valid_sentences": 1}
    config = tiny_config(corpus, tmp_path / "run", changes)
    train_with(config, Derail(15), Note())
    assert good[16] == [10, 16] and good[18] == [10]  # before it is known, and after a bad window
    assert values_of(config.run_dir, "train/rollbacks") == {22: 1.0}
    losses = values_of(config.run_dir, "valid/loss")
    assert min(losses[step] for step in (16, 18, 20)) > 1.5 * losses[22]
    assert names(config.run_dir, "recent-*") == ["recent-00000022"]
    watched = checkpoint(config.run_dir)["callbacks"]["Milestones"]["selector"]
    assert watched["n_since"] <= 1 and watched["ranking"][0][1] not in range(16, 22)


def test_many_steps_without_a_finite_gradient_take_the_run_back(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, little_patience: None
) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.max_steps": 18})
    with pytest.raises(RuntimeError, match="power cut"):
        train_with(config, Spoil(*range(13, 17)), Crash(17))
    trouble = "the gradients of the last 4 steps, up to step 16, were not finite"
    assert f"{trouble}; the run goes on from its state of step 9" in caplog.text
    saved = checkpoint(config.run_dir)  # at once
    assert (saved["global_step"], saved["rollbacks"], saved["skipped"]) == (16, 1, [4, 0])
    train_with(config, resume=True)
    assert values_of(config.run_dir, "train/skipped_steps")[18] == 4
    assert values_of(config.run_dir, "train/rollbacks") == dict.fromkeys((17, 18), 1.0)


def test_each_rollback_halves_the_rate_and_the_last_one_is_followed_by_an_error(corpus: Path, tmp_path: Path) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.max_rollbacks": 2, "trainer.max_epochs": 4})
    told = r"^training has diverged: .* up to step 30, after 2 of 2 rollbacks; start again with a lower .*=32-true"
    with pytest.raises(RunError, match=told):
        train_with(config, Derail(13, 19, 25))
    assert all(weight.isfinite().all() for weight in checkpoint(config.run_dir)["state_dict"].values())
    rates = values_of(config.run_dir, "train/lr")
    assert [rates[step] * 2**n for n, step in enumerate((18, 24, 29))] == pytest.approx(
        [learning_rate(step, config.optim, 0) for step in (18, 24, 29)]
    )


def test_without_rollbacks_a_finite_loss_is_not_judged(corpus: Path, tmp_path: Path) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.max_rollbacks": 0, "trainer.max_epochs": 2})
    train_with(config, Derail(11))
    assert checkpoint(config.run_dir)["global_step"] == 18
    assert values_of(config.run_dir, "train/rollbacks") == {} and names(config.run_dir, "good-*") == []


@pytest.mark.nightly
def test_an_average_that_began_after_the_good_state_begins_anew_with_its_weights(corpus: Path, tmp_path: Path) -> None:
    stop_at(tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.ema_decay": 0.0}), 12)
    config = tiny_config(corpus, tmp_path / "run", CHANGES)
    stop_at(config, 18, Derail(13), resume=True)
    last = checkpoint(config.run_dir)
    averages = last["callbacks"]["ExponentialAverage"]["weights"]
    assert last["rollbacks"] == 1
    assert all(torch.equal(weight, last["state_dict"][f"model.{name}"]) for name, weight in averages.items())
    train_with(config, resume=True)  # and goes on


def test_a_damaged_state_to_go_back_to_is_named(corpus: Path, tmp_path: Path) -> None:
    class Damage(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
            if pl_module.n_steps == 16:
                (tmp_path / "run/checkpoints/good-00000009.ckpt").write_bytes(b"PK")

    config = tiny_config(corpus, tmp_path / "run", CHANGES)
    with pytest.raises(CheckpointError, match=r"good-00000009\.ckpt: not a checkpoint"):
        train_with(config, Derail(13), Damage())


@pytest.mark.nightly
def test_a_later_end_after_a_rollback_is_planned_with_the_lower_rate(corpus: Path, tmp_path: Path) -> None:
    """From the rate that it has, in a line of 5 steps to half of the new plan."""
    changes = CHANGES | {"optim.schedule": "cosine"}
    config = tiny_config(corpus, tmp_path / "run", changes)
    stop_at(config, 20, Derail(13))
    assert checkpoint(config.run_dir)["rollbacks"] == 1
    later = tiny_config(corpus, tmp_path / "run", changes | {"trainer.max_epochs": 6})
    stop_at(later, 23, resume=True)
    rates = values_of(config.run_dir, "train/lr")
    assert rates[21] == pytest.approx(learning_rate(21, config.optim, 27) / 2)
    for step in (22, 23):
        line = rates[21] + (learning_rate(step, config.optim, 54) / 2 - rates[21]) * (step - 21) / 5
        assert rates[step] == pytest.approx(line)


@needs_gloo
def test_two_processes_go_back_together(corpus: Path, tmp_path: Path) -> None:
    """An epoch has 8 steps. The steps from 14 to 18 are bad, and the state of step 8 is good."""
    changes = {"batch.max_tokens": 160, "trainer.devices": 2, "trainer.strategy": "ddp"}
    changes |= {"trainer.max_epochs": 0, "trainer.max_steps": 20, "trainer.valid_sentences": 2, "data.test": "null"}
    done = train_together(tmp_path, *arguments(corpus, tmp_path / "run", CHANGES | changes), before=DERAILED)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("up to step 18; the run goes on from its state of step 8, with 0.5 of") == 1
    first, second = (torch.load(tmp_path / "run" / f"rank{rank}") for rank in (0, 1))
    assert plain(first, "") == plain(second, "")
