"""A run that has diverged goes back to a good state and goes on with a lower rate.

An epoch of the small corpus has 15 steps, and the run validates and saves after each. Windows have 5 steps here, and
two bad ones make a divergence. So a run that is derailed after step 37 goes back at step 45. The state of step 30 is
good, since the steps up to 35 were good.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.precision import MixedPrecision

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import CheckpointError, RunError
from seq2seq.training.loss_watch import LossWatch
from seq2seq.training.schedule import learning_rate
from seq2seq.training.stop_signals import TrainingInterrupted
from tests.training.callbacks.test_divergence import Spoil
from tests.training.test_resume import Crash, metrics, plain
from tests.training.tiny_runs import SignalAt, arguments, callback_states, checkpoint, command, tiny_config, train_with

pytestmark = pytest.mark.slow

# Each process writes down the weights that it has at the end. The copy is what `kill -9` after step 26 would leave.
DERAILED = """
import shutil
import torch
from seq2seq.cli import front_door
from seq2seq.training.loss_watch import LossWatch
from seq2seq.training.module import TranslationModule

LossWatch.window, LossWatch.most_bad = 5, 2
begin = TranslationModule.on_train_batch_start

def derail(self, batch, batch_idx):
    begin(self, batch, batch_idx)
    if self.trainer.global_step == 22:
        for parameter in self.parameters():
            parameter.data.mul_(30)
    if self.trainer.global_step == 26 and self.global_rank == 0 and self.config.run_dir.endswith("whole"):
        shutil.copytree(self.config.run_dir, self.config.run_dir.replace("whole", "killed"))

def note(self):
    torch.save(self.state_dict(), f"{self.config.run_dir}/rank{self.global_rank}")

TranslationModule.on_train_batch_start, TranslationModule.on_train_end = derail, note
front_door("train")
"""

CHANGES: dict[str, Any] = {"trainer.max_epochs": 4, "trainer.ema_decay": 0.9, "trainer.max_time": "00:01:00:00"}


@pytest.fixture(autouse=True)
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LossWatch, "window", 5)
    monkeypatch.setattr(LossWatch, "most_bad", 2)


class Derail(pl.Callback):
    """Spoils the weights after some steps, so that the loss is finite and does not come back."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        if trainer.global_step in self.steps:
            for parameter in pl_module.parameters():
                parameter.data.mul_(30)


def values(run_dir: Path | str, name: str) -> dict[int, float]:
    """A metric by the number of optimizer steps that were done."""
    return {each.step + 1: each.value for each in RunDirectory(Path(run_dir)).metrics() if each.name == name}


def names(run_dir: Path | str, pattern: str) -> list[str]:
    return sorted(file.stem for file in (Path(run_dir) / "checkpoints").glob(pattern))


@pytest.mark.parametrize("variant", [{}, {"optim.optimizer": "muon"}])
def test_the_run_goes_back_to_weights_moments_and_averages_and_halves_its_rate(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, variant: dict[str, Any]
) -> None:
    first = tiny_config(corpus, tmp_path / "run", CHANGES | variant | {"trainer.max_epochs": 2})
    train_with(first)
    good = checkpoint(first.run_dir)
    second = tiny_config(corpus, tmp_path / "run", CHANGES | variant | {"trainer.max_epochs": 3})
    train_with(second, Derail(37), resume=True)
    assert "nats per token and did not come back for 10 steps, up to step 45; the run goes" in caplog.text
    assert "goes on from its state of step 30, with 0.5 of the planned learning rate (rollback 1 of 3)" in caplog.text
    last = checkpoint(second.run_dir)
    assert (last["global_step"], last["rollbacks"], last["position"]["epoch"]) == (45, 1, 2)
    assert plain(last["state_dict"], "") == plain(good["state_dict"], "")
    state, good_state = last["optimizer_states"][0], good["optimizer_states"][0]
    assert plain(state["state"], "") == plain(good_state["state"], "")
    averages, good_averages = (each["callbacks"]["ExponentialAverage"] for each in (last, good))
    assert plain(averages["weights"], "") == plain(good_averages["weights"], "")
    rate = learning_rate(46, second.optim, 0) / 2
    assert {group["lr"] for group in state["param_groups"]} == {rate} == set(last["lr_schedulers"][0]["_last_lr"])
    third = tiny_config(corpus, tmp_path / "run", CHANGES | variant)
    train_with(third, resume=True)
    rates = values(third.run_dir, "train/lr")
    assert rates[45] == pytest.approx(learning_rate(45, third.optim, 0))
    assert [rates[step] for step in (46, 60)] == pytest.approx([learning_rate(s, third.optim, 0) / 2 for s in (46, 60)])
    assert values(third.run_dir, "train/rollbacks") == dict.fromkeys(range(46, 61), 1.0)
    losses = [each.step for each in RunDirectory(Path(third.run_dir)).metrics() if each.name == "train/loss"]
    assert losses == list(range(60))
    loss = values(third.run_dir, "train/loss")
    assert loss[38] > 10 and max(loss[step] for step in range(46, 61)) < max(loss[step] for step in range(28, 38)) + 1


class Fp16(pl.Callback):
    """What Lightning uses for 16-mixed, which it refuses on CPUs."""

    def setup(self, trainer: pl.Trainer, *args: Any, **more: Any) -> None:
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**9, growth_interval=12)
        trainer.strategy._precision_plugin = MixedPrecision("16-mixed", "cpu", scaler)


def test_the_scale_of_fp16_goes_back_too(corpus: Path, tmp_path: Path) -> None:
    """Each gradient that is not finite halves it, and it would take 20 times 2,000 steps to get it back."""
    changes = {"trainer.precision": "16-mixed", "trainer.max_steps": 57}
    config = tiny_config(corpus, tmp_path / "run", CHANGES | changes)
    train_with(config, Fp16(), Derail(37))
    last, good = checkpoint(config.run_dir), checkpoint(config.run_dir, "good-00000030.ckpt")
    assert (last["global_step"], last["rollbacks"], last["skipped"]) == (57, 1, [20, 0])
    assert last["MixedPrecision"] == good["MixedPrecision"] and good["MixedPrecision"]["scale"] == 2.0**11


@pytest.fixture(scope="module")
def unbroken(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("unbroken") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LossWatch, "window", 5)
        patch.setattr(LossWatch, "most_bad", 2)
        train_with(tiny_config(corpus, run_dir, CHANGES), Derail(37))
    return run_dir


def same(run_dir: Path, whole_dir: Path) -> bool:
    last, whole = checkpoint(run_dir), checkpoint(whole_dir)
    for key in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "rollbacks", "position"):
        assert plain(last[key], "") == plain(whole[key], ""), key
    for name, state in callback_states(whole).items():
        assert plain(callback_states(last)[name], run_dir) == plain(state, whole_dir), name
    assert metrics(run_dir) == metrics(whole_dir)
    for pattern in ("good-*", "recent-*"):
        assert names(run_dir, pattern) == names(whole_dir, pattern)
    return (run_dir / "selection.json").read_bytes() == (whole_dir / "selection.json").read_bytes()


@pytest.mark.parametrize("stop", [38, 43, 45, 48])
def test_a_run_that_is_stopped_around_a_rollback_is_the_unbroken_run(
    corpus: Path, tmp_path: Path, unbroken: Path, stop: int
) -> None:
    """It is stopped before the trouble is noticed, in it, where the run goes back, and afterwards."""
    config = tiny_config(corpus, tmp_path / "run", CHANGES)
    with pytest.raises(TrainingInterrupted):
        train_with(config, Derail(37), SignalAt(stop))
    train_with(config, Derail(37), resume=True)
    assert same(tmp_path / "run", unbroken)


@pytest.mark.parametrize("stop", [44, 45])
def test_a_run_that_dies_around_a_rollback_loses_nothing(
    corpus: Path, tmp_path: Path, unbroken: Path, stop: int
) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES)
    with pytest.raises(RuntimeError, match="power cut"):
        train_with(config, Derail(37), Crash(stop))
    train_with(config, Derail(37), resume=True)
    assert same(tmp_path / "run", unbroken)


def test_what_was_validated_in_the_trouble_is_forgotten(corpus: Path, tmp_path: Path) -> None:
    """Neither does it end the run by patience, nor are its weights averaged at the end, nor is its state good."""
    good = []

    class Note(pl.Callback):
        def on_train_batch_start(self, trainer: pl.Trainer, *args: Any) -> None:
            good.append(RunDirectory(tmp_path / "run").good())

    changes = CHANGES | {"trainer.val_every_n_steps": 2, "trainer.patience": 3, "trainer.monitor": "valid/loss"}
    config = tiny_config(corpus, tmp_path / "run", changes | {"trainer.max_steps": 46, "trainer.average_last": 3})
    train_with(config, Derail(35), Note())
    assert good[36] == [26, 36] and good[40] == [26]  # before it is known, and after a bad window
    assert values(config.run_dir, "train/rollbacks") == {46: 1.0}
    losses = values(config.run_dir, "valid/loss")
    assert min(losses[step] for step in (38, 40, 42, 44)) > 3 * losses[46]
    assert names(config.run_dir, "recent-*") == ["recent-00000046"]
    watched = checkpoint(config.run_dir)["callbacks"]["Milestones"]["selector"]
    assert watched["n_since"] <= 1 and watched["ranking"][0][1] not in range(36, 46)


def test_many_steps_without_a_finite_gradient_take_the_run_back(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES)
    with pytest.raises(RuntimeError, match="power cut"):
        train_with(config, Spoil(*range(24, 44)), Crash(44))
    trouble = "the gradients of the last 20 steps, up to step 43, were not finite"
    assert f"{trouble}; the run goes on from its state of step 15" in caplog.text
    saved = checkpoint(config.run_dir)  # at once
    assert (saved["global_step"], saved["rollbacks"], saved["skipped"]) == (43, 1, [20, 0])
    train_with(config, resume=True)
    assert values(config.run_dir, "train/skipped_steps")[60] == 20
    assert values(config.run_dir, "train/rollbacks") == dict.fromkeys(range(44, 61), 1.0)


@pytest.mark.parametrize("trouble", [Derail(37, 52), Spoil(*range(37, 57), *range(57, 77))])
def test_the_last_rollback_is_followed_by_an_error(corpus: Path, tmp_path: Path, trouble: pl.Callback) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.max_rollbacks": 1, "trainer.max_epochs": 6})
    message = (
        r"^training has diverged: the .* up to step (60|76)(, were not finite)?, although the run went back and halved "
        r"its rate once; start again with a lower optim\.lr \(it was 0\.005\), more optim\.warmup_steps or "
        r"trainer\.precision=32-true$"
    )
    with pytest.raises(RunError, match=message):
        train_with(config, trouble)
    assert values(config.run_dir, "train/rollbacks").keys() >= {58}
    assert all(weight.isfinite().all() for weight in checkpoint(config.run_dir)["state_dict"].values())


def test_each_rollback_halves_the_rate_again(corpus: Path, tmp_path: Path) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.max_epochs": 0, "trainer.max_steps": 61})
    train_with(config, Derail(37, 52))
    rates = values(config.run_dir, "train/lr")
    assert [rates[step] for step in (60, 61)] == pytest.approx(
        [learning_rate(60, config.optim, 0) / 2, learning_rate(61, config.optim, 0) / 4]
    )


def test_without_rollbacks_a_finite_loss_is_not_judged(corpus: Path, tmp_path: Path) -> None:
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.max_rollbacks": 0})
    train_with(config, Derail(37))
    assert checkpoint(config.run_dir)["global_step"] == 60
    assert values(config.run_dir, "train/rollbacks") == {} and names(config.run_dir, "good-*") == []


def test_a_damaged_state_to_go_back_to_is_named(corpus: Path, tmp_path: Path) -> None:
    class Damage(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
            if trainer.global_step == 40:
                (tmp_path / "run/checkpoints/good-00000030.ckpt").write_bytes(b"PK")

    config = tiny_config(corpus, tmp_path / "run", CHANGES)
    with pytest.raises(CheckpointError, match=r"good-00000030\.ckpt: not a checkpoint"):
        train_with(config, Derail(37), Damage())


def test_a_later_end_after_a_rollback_is_planned_with_the_lower_rate(corpus: Path, tmp_path: Path) -> None:
    """From the rate that it has, in a line of 5 steps to half of the new plan."""
    changes = CHANGES | {"optim.schedule": "cosine"}
    config = tiny_config(corpus, tmp_path / "run", changes)
    with pytest.raises(TrainingInterrupted):
        train_with(config, Derail(20), SignalAt(40))
    assert checkpoint(config.run_dir)["rollbacks"] == 1
    later = tiny_config(corpus, tmp_path / "run", changes | {"trainer.max_epochs": 8})
    with pytest.raises(TrainingInterrupted):
        train_with(later, SignalAt(43), resume=True)
    rates = values(config.run_dir, "train/lr")
    assert rates[41] == pytest.approx(learning_rate(41, config.optim, 60) / 2)
    for step in (42, 43):
        line = rates[41] + (learning_rate(step, config.optim, 120) / 2 - rates[41]) * (step - 41) / 5
        assert rates[step] == pytest.approx(line)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="gloo on this system is not tested")
def test_two_processes_go_back_together_also_after_they_were_killed(corpus: Path, tmp_path: Path) -> None:
    """An epoch has 8 steps. The steps from 21 to 30 are bad, and the state of step 8 is good."""
    script = tmp_path / "train.py"
    script.write_text(DERAILED)
    changes = {"trainer.devices": 2, "trainer.strategy": "ddp", "trainer.max_epochs": 0, "trainer.max_steps": 36}
    for words in (arguments(corpus, tmp_path / "whole", CHANGES | changes), [f"resume={tmp_path / 'killed'}"]):
        done = command(*words, script=script, timeout=240)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("up to step 30; the run goes on from its state of step 8, with 0.5 of") == 1
    weights = [torch.load(tmp_path / name / f"rank{rank}") for name in ("whole", "killed") for rank in (0, 1)]
    assert all(plain(each, "") == plain(weights[0], "") for each in weights)
    assert metrics(tmp_path / "killed") == metrics(tmp_path / "whole")
    killed, whole = checkpoint(tmp_path / "killed"), checkpoint(tmp_path / "whole")
    assert killed["callbacks"]["Divergence"] == whole["callbacks"]["Divergence"]
