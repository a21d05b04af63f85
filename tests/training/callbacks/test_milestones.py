"""When a run validates, saves and stops, and what is left for the end to choose from.

An epoch of the small corpus has 15 batches; with `batch.accumulate=4`, 4 steps, of which the last has 3 batches.
"""

import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from seq2seq.artifacts.checkpoint import resumable
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training.callbacks import milestones
from seq2seq.training.callbacks.milestones import STALE_AFTER_S
from seq2seq.training.stop_signals import STOP_SIGNALS, TrainingInterrupted
from seq2seq.training.validation import Validation
from tests.training.tiny_runs import (
    SignalAt,
    checkpoint,
    tiny_config,
    train_with,
)

pytestmark = pytest.mark.slow


def values(run_dir: Path | str, name: str) -> dict[int, float]:
    """A metric by the number of optimizer steps that were done."""
    return {each.step + 1: each.value for each in RunDirectory(Path(run_dir)).metrics() if each.name == name}


class CutOff(Exception):
    """As a power cut in the middle of a validation."""


def cut_off_validation(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the validation of this number, counted from 1, raise CutOff."""
    measure, count = Validation.while_training, iter(range(1, 1000))

    def while_training(self: Validation, model: Any) -> dict[str, float]:
        if next(count) == number:
            raise CutOff
        return measure(self, model)

    monkeypatch.setattr(Validation, "while_training", while_training)


def test_validations_are_due_after_whole_steps_in_every_epoch(corpus: Path, tmp_path: Path) -> None:
    changes = {"batch.accumulate": 4, "trainer.val_every_n_steps": 3, "trainer.max_epochs": 4}
    config = tiny_config(corpus, tmp_path / "run", changes)
    train_with(config)
    n_steps = checkpoint(config.run_dir)["global_step"]
    assert n_steps == 16
    assert list(values(config.run_dir, "valid/bleu")) == list(range(3, n_steps + 1, 3))


def test_a_run_is_saved_within_long_epochs(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(milestones, "SAVE_EVERY_S", 0)

    class PowerCut(pl.Callback):
        def on_train_batch_start(self, trainer: pl.Trainer, *args: Any) -> None:
            if trainer.global_step == 8:
                raise CutOff

    config = tiny_config(corpus, tmp_path / "run", {"trainer.val_every_n_steps": 100})
    with pytest.raises(CutOff):
        train_with(config, PowerCut())
    assert resumable(RunDirectory(tmp_path / "run")).step == 8
    assert checkpoint(config.run_dir, "previous.ckpt")["global_step"] == 7


@pytest.mark.parametrize("number", [1, 2, 3], ids=["first", "second", "last"])
def test_a_validation_that_was_cut_off_is_made_up_for(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    changes = {"trainer.max_epochs": 3, "trainer.ema_decay": 0.9}
    whole, cut = (tiny_config(corpus, tmp_path / name, changes) for name in ("whole", "cut"))
    outcome = train_with(whole)
    with monkeypatch.context() as patch:
        cut_off_validation(patch, number)
        with pytest.raises(CutOff):
            train_with(cut)
    assert train_with(cut, resume=True) == outcome
    for metric in ("valid/bleu", "valid/loss", "train/loss"):
        assert values(cut.run_dir, metric) == values(whole.run_dir, metric)
    for name in ("best.ckpt", "last.ckpt", "model.ckpt"):
        ours, theirs = (checkpoint(config.run_dir, name)["state_dict"] for config in (cut, whole))
        assert all(torch.equal(ours[key], weight) for key, weight in theirs.items()), name


def test_a_run_that_stopped_early_is_only_tested_again(corpus: Path, tmp_path: Path) -> None:
    changes = {"trainer.max_epochs": 50, "trainer.patience": 2, "trainer.monitor": "valid/loss", "optim.lr": 0.5}
    config = tiny_config(corpus, tmp_path / "run", changes)
    outcome = train_with(config)
    n_steps, found = checkpoint(config.run_dir)["global_step"], values(config.run_dir, "valid/loss")
    assert n_steps < 50 * 15
    assert train_with(config, resume=True) == outcome
    assert values(config.run_dir, "valid/loss") == found
    config.trainer.patience = 4  # two validations more, and perhaps others
    train_with(config, resume=True)
    further = values(config.run_dir, "valid/loss")
    assert {step: further[step] for step in found} == found
    assert len(further) >= len(found) + 2


def test_what_is_watched_is_what_is_kept_and_chosen(corpus: Path, tmp_path: Path) -> None:
    """With an exponential average: its scores are logged, it is `best.ckpt`, and it is the candidate at the end."""
    changes = {"trainer.max_epochs": 4, "trainer.ema_decay": 0.97, "trainer.average_last": 0, "optim.lr": 0.02}
    config = tiny_config(corpus, tmp_path / "run", changes)
    outcome = train_with(config)
    last = checkpoint(config.run_dir)
    logged = values(config.run_dir, "valid/loss")
    by_name = {name.split(" (")[0]: scores for name, scores in outcome.valid.items()}
    assert by_name["last"]["loss"] == pytest.approx(logged[60], abs=1e-4)
    ema = last["callbacks"]["ExponentialAverage"]["weights"]
    best = checkpoint(config.run_dir, "best.ckpt")
    if "best" in by_name:
        assert by_name["best"]["loss"] == pytest.approx(logged[best["global_step"]], abs=1e-4)
    else:  # it is the last one
        kept = best["state_dict"]
        assert all(torch.equal(kept[f"model.{name}"], weight) for name, weight in ema.items())
    assert not any(torch.equal(last["state_dict"][f"model.{name}"], weight) for name, weight in ema.items())


@pytest.mark.parametrize("monitor", ["valid/loss", "valid/chrf"])
def test_one_metric_decides_what_is_best_and_what_is_chosen(corpus: Path, tmp_path: Path, monitor: str) -> None:
    changes = {"trainer.max_epochs": 5, "trainer.monitor": monitor, "optim.lr": 0.2, "trainer.average_last": 0}
    config = tiny_config(corpus, tmp_path / "run", changes)
    outcome = train_with(config)
    better = min if monitor == "valid/loss" else max
    logged = values(config.run_dir, monitor)
    best_step = next(step for step, value in logged.items() if value == better(logged.values()))
    assert checkpoint(config.run_dir, "best.ckpt")["global_step"] == best_step
    of_candidates = {name: scores[monitor.removeprefix("valid/")] for name, scores in outcome.valid.items()}
    assert of_candidates[outcome.selected] == better(of_candidates.values())


def test_another_monitor_on_resume_looks_for_the_best_anew(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_epochs": 2})
    train_with(config)
    config.trainer.monitor, config.trainer.max_epochs = "valid/loss", 3
    with caplog.at_level(logging.INFO):
        train_with(config, resume=True)
    assert "the best one is looked for anew" in caplog.text
    assert checkpoint(config.run_dir, "best.ckpt")["global_step"] == 45


def test_a_cosine_that_gets_longer_has_no_jump(corpus: Path, tmp_path: Path) -> None:
    changes = {"optim.schedule": "cosine", "trainer.max_epochs": 2, "optim.warmup_steps": 10}
    config = tiny_config(corpus, tmp_path / "run", changes)
    train_with(config)
    config.trainer.max_epochs = 4
    train_in_parts_of(config, 33)
    rates = values(config.run_dir, "train/lr")
    assert rates[30] < 1e-4 * 0.5
    steps = [rates[step + 1] - rates[step] for step in range(30, 59)]
    assert max(steps) < 0.06 * 5e-3  # of the line that rises in 10 steps to half of the peak
    assert rates[40] == pytest.approx(max(rates[step] for step in range(31, 61)), rel=0.05)
    assert 0.25 * 5e-3 < rates[41] < 0.5 * 5e-3
    assert rates[60] < 0.01 * 5e-3


def train_in_parts_of(config: Any, *stops: int) -> None:
    """As `train_in_parts`, of a run that has begun."""
    for step in stops:
        with pytest.raises(TrainingInterrupted):
            train_with(config, SignalAt(step), resume=True)
    train_with(config, resume=True)


@pytest.mark.parametrize("signum", STOP_SIGNALS)
def test_every_signal_to_stop_saves(corpus: Path, tmp_path: Path, signum: int) -> None:
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_epochs": 1})
    with pytest.raises(TrainingInterrupted) as caught:
        train_with(config, SignalAt(15, signum))  # a validation is due, too, and waits for the run to go on
    assert caught.value.signum == signum
    assert checkpoint(config.run_dir)["global_step"] == 15
    assert values(config.run_dir, "valid/bleu") == {}
    train_with(config, resume=True)
    assert list(values(config.run_dir, "valid/bleu")) == [15]


def test_only_old_unfinished_files_are_removed(corpus: Path, tmp_path: Path) -> None:
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_steps": 4})
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(2))
    young, old = (tmp_path / "run/checkpoints" / f".last.ckpt.{name}.tmp" for name in ("a", "b"))
    for file in (young, old):
        file.touch()
    long_ago = time.time() - STALE_AFTER_S - 1
    os.utime(old, (long_ago, long_ago))
    train_with(config, resume=True)
    assert young.exists()
    assert not old.exists()
