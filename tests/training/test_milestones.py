"""When a run validates, saves and stops, and what is left for the end to choose from.

With `SHORT`, an epoch of the small corpus has 5 batches; with `batch.accumulate=2`, 3 steps, the last of one batch.
"""

import logging
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.checkpoint import resumable
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.exit_status import STOP_SIGNALS
from seq2seq.training import milestones
from seq2seq.training.milestones import STALE_AFTER_S, Milestones
from seq2seq.training.optimizer import learning_rate
from seq2seq.training.processes import TrainingInterrupted
from seq2seq.training.validation import Validation
from tests.training.test_resume import Crash
from tests.training.tiny_runs import SignalAt, checkpoint, tiny_config, train_with, values_of

SHORT: dict[str, Any] = {"batch.max_tokens": 600, "decoding.beam_size": 1, "data.test": None}


class CutOff(Exception):
    """As a power cut in the middle of a validation."""


def test_validations_are_due_after_whole_steps_in_every_epoch(corpus: Path, tmp_path: Path) -> None:
    changes = SHORT | {"batch.accumulate": 2, "trainer.val_every_n_steps": 2, "trainer.max_epochs": 2}
    config = tiny_config(corpus, tmp_path / "run", changes)
    train_with(config)
    assert checkpoint(config.run_dir)["global_step"] == 6
    assert list(values_of(config.run_dir, "valid/bleu")) == [2, 4, 6]


def test_a_run_is_saved_within_long_epochs(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milestones, "SAVE_EVERY_S", 0)
    config = tiny_config(corpus, tmp_path / "run", SHORT | {"trainer.val_every_n_steps": 100})
    with pytest.raises(RuntimeError, match="power cut"):
        train_with(config, Crash(4))
    assert resumable(RunDirectory(tmp_path / "run")).step == 3
    assert checkpoint(config.run_dir, "previous.ckpt")["global_step"] == 2


def test_the_speed_is_that_of_steps_without_saves(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milestones, "SAVE_EVERY_S", 0)
    save = Milestones._save

    def slowly(self: Milestones, trainer: Any, step: int) -> None:
        save(self, trainer, step)
        time.sleep(0.5)

    monkeypatch.setattr(Milestones, "_save", slowly)
    changes = SHORT | {"trainer.max_steps": 4, "trainer.log_every_n_steps": 1, "trainer.val_every_n_steps": 4}
    train_with(tiny_config(corpus, tmp_path / "run", changes))
    assert min(values_of(tmp_path / "run", "train/tgt_tokens_per_s").values()) > 600 / 0.5


def test_a_validation_that_was_cut_off_is_made_up_for(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one and the last one."""
    changes = SHORT | {"trainer.max_epochs": 2, "trainer.ema_decay": 0.9}
    whole, cut = (tiny_config(corpus, tmp_path / name, changes) for name in ("whole", "cut"))
    outcome = train_with(whole)
    measure, attempts = Validation.while_training, iter(range(4))

    def while_training(self: Validation, model: Any) -> dict[str, float]:
        if next(attempts) % 2 == 0:
            raise CutOff
        return measure(self, model)

    with monkeypatch.context() as patch:
        patch.setattr(Validation, "while_training", while_training)
        for n in range(2):
            with pytest.raises(CutOff):
                train_with(cut, resume=n > 0)
            assert list(values_of(cut.run_dir, "valid/bleu")) == [5][:n]
        assert train_with(cut, resume=True) == outcome
    for metric in ("valid/bleu", "valid/loss", "train/loss"):
        assert values_of(cut.run_dir, metric) == values_of(whole.run_dir, metric)
    for name in ("best.ckpt", "last.ckpt", "model.ckpt"):
        ours, theirs = (checkpoint(config.run_dir, name)["state_dict"] for config in (cut, whole))
        assert all(torch.equal(ours[key], weight) for key, weight in theirs.items()), name


def test_what_is_watched_is_what_is_kept_and_chosen(corpus: Path, tmp_path: Path) -> None:
    """With an exponential average: its scores are logged, it is `best.ckpt`, and it is the candidate at the end."""
    changes = SHORT | {"trainer.ema_decay": 0.97, "trainer.average_last": 0, "optim.lr": 0.02}
    config = tiny_config(corpus, tmp_path / "run", changes)
    outcome = train_with(config)
    last = checkpoint(config.run_dir)
    logged = values_of(config.run_dir, "valid/loss")
    by_name = {name.split(" (")[0]: scores for name, scores in outcome.valid.items()}
    assert by_name["last"]["loss"] == pytest.approx(logged[10], abs=1e-4)
    ema = last["callbacks"]["ExponentialAverage"]["weights"]
    best = checkpoint(config.run_dir, "best.ckpt")
    if "best" in by_name:
        assert by_name["best"]["loss"] == pytest.approx(logged[best["global_step"]], abs=1e-4)
    else:  # it is the last one
        kept = best["state_dict"]
        assert all(torch.equal(kept[f"model.{name}"], weight) for name, weight in ema.items())
    assert not any(torch.equal(last["state_dict"][f"model.{name}"], weight) for name, weight in ema.items())


def test_one_metric_decides_what_is_best_and_what_is_chosen(corpus: Path, tmp_path: Path) -> None:
    changes = {"trainer.max_epochs": 4, "trainer.monitor": "valid/loss", "optim.lr": 0.2, "trainer.average_last": 0}
    config = tiny_config(corpus, tmp_path / "run", SHORT | changes)
    outcome = train_with(config)
    logged = values_of(config.run_dir, "valid/loss")
    assert checkpoint(config.run_dir, "best.ckpt")["global_step"] == min(logged, key=lambda step: logged[step])
    of_candidates = {name: scores["loss"] for name, scores in outcome.valid.items()}
    assert of_candidates[outcome.selected] == min(of_candidates.values())


@pytest.mark.nightly
@pytest.mark.parametrize("change", [{"trainer.monitor": "valid/loss"}, {"evaluation.tokenize": "char"}])
def test_another_measure_on_resume_looks_for_the_best_anew(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: dict[str, str]
) -> None:
    train_with(tiny_config(corpus, tmp_path / "run", SHORT | {"trainer.max_epochs": 1}))
    config = tiny_config(corpus, tmp_path / "run", SHORT | {"trainer.max_epochs": 2} | change)
    with caplog.at_level(logging.INFO):
        train_with(config, resume=True)
    assert "the best one is looked for anew" in caplog.text
    assert checkpoint(config.run_dir, "best.ckpt")["global_step"] == 10


def test_validations_with_less_memory_are_compared_with_those_before(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train_with(tiny_config(corpus, tmp_path / "run", SHORT | {"trainer.max_epochs": 1}))
    smaller = {"trainer.max_epochs": 2, "decoding.max_batch_tokens": 100}
    with caplog.at_level(logging.INFO):
        train_with(tiny_config(corpus, tmp_path / "run", SHORT | smaller), resume=True)
    assert values_of(tmp_path / "run", "valid/bleu").keys() == {5, 10} and "anew" not in caplog.text


def test_a_cosine_that_gets_longer_has_no_jump(corpus: Path, tmp_path: Path) -> None:
    """It rises from 0 in a line of 3 steps to the new plan, also where it is stopped in the middle of that."""
    changes = SHORT | {"optim.schedule": "cosine", "optim.warmup_steps": 3, "trainer.val_every_n_steps": 100}
    config = tiny_config(corpus, tmp_path / "run", changes)
    train_with(config)
    config.trainer.max_epochs = 4
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(12), resume=True)
    train_with(config, resume=True)
    rates = values_of(config.run_dir, "train/lr")
    plan = {step: learning_rate(step, config.optim, 20) for step in range(11, 21)}
    assert rates[10] == pytest.approx(0)
    assert [rates[step] for step in plan] == pytest.approx([plan[step] * min(1, (step - 11) / 3) for step in plan])


def test_a_signal_to_stop_saves_and_finds_its_handler_again(corpus: Path, tmp_path: Path) -> None:
    """At the last step, too, where a validation is due; that waits for the run to go on."""
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    changes = SHORT | {"trainer.max_epochs": 1, "batch.max_tokens": 800}
    config = tiny_config(corpus, tmp_path / "run", changes)
    for step, signum in ((1, STOP_SIGNALS[0]), (4, STOP_SIGNALS[-1])):
        with pytest.raises(TrainingInterrupted) as caught:
            train_with(config, SignalAt(step, signum), resume=step > 1)
        assert caught.value.signum == signum
        assert checkpoint(config.run_dir)["global_step"] == step
        assert [signal.getsignal(number) for number in STOP_SIGNALS] == before
    assert values_of(config.run_dir, "valid/bleu") == {}
    train_with(config, resume=True)
    assert list(values_of(config.run_dir, "valid/bleu")) == [4]
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before


def test_only_old_unfinished_files_are_removed(corpus: Path, tmp_path: Path) -> None:
    config = tiny_config(corpus, tmp_path / "run", SHORT | {"trainer.max_steps": 2})
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(1))
    young, old = (tmp_path / "run/checkpoints" / f".last.ckpt.{name}.tmp" for name in ("a", "b"))
    for file in (young, old):
        file.touch()
    long_ago = time.time() - STALE_AFTER_S - 1
    os.utime(old, (long_ago, long_ago))
    train_with(config, resume=True)
    assert young.exists()
    assert not old.exists()
