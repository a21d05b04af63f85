"""A run that does not fit into memory ends before its first step, and a run that does is not touched."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import BatchConfig, ModelConfig
from seq2seq.dataset.batches import BatchLoader, Shape
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import RunError
from seq2seq.training import fitting
from seq2seq.training.data import largest
from seq2seq.training.fitting import WorstBatch, fits, missing_state
from seq2seq.training.module import TranslationModule
from tests.dataset.epochs import micro_batches
from tests.training.short_of_memory import large, needs_limits, script
from tests.training.test_module import fit, make_module
from tests.training.tiny_runs import (
    arguments,
    callback_states,
    checkpoint,
    command,
    tiny_config,
    train_in_parts,
    train_with,
)
from tests.training.two_ranks import needs_gloo, train_together

FEW_STEPS = {"trainer.max_epochs": 0, "trainer.max_steps": 1, "data.max_sentence_tokens": 30, "data.test": None}


@needs_limits
def test_a_run_ends_at_once_that_needs_more_than_the_memory_that_is_available(corpus: Path, tmp_path: Path) -> None:
    """Linux would have promised more, and killed the process that uses it."""
    patch = "fitting.available_memory = lambda: 350 << 20"
    keys = large(batch__max_tokens=2048)
    done = command(*arguments(corpus, tmp_path / "run", keys), script=script(tmp_path, memory=1 << 20, patch=patch))
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert last.startswith("error: batch.max_tokens=2048 needs more memory than there is for a batch of "), last
    named = last.split(", or use ")[1].split(",")[0].split()
    assert named in [[f"batch.max_tokens={2048 // n}", f"batch.accumulate={n}"] for n in (2, 4, 8)]


def let_fit(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches fit of so many target tokens."""
    monkeypatch.setattr(fitting, "fits", lambda module, shape, *_: shape.n_pairs * shape.n_tgt <= most)


@pytest.mark.parametrize(
    ("most", "told"),
    [
        (60, "=160 needs .*, or use batch.max_tokens=40 batch.accumulate=12, "),  # 160 / 4, with something to spare
        (0, "cannot hold data.max_sentence_tokens=30; lower both, or use a smaller model"),  # not even a sentence fits
    ],
)
def test_a_run_that_does_not_fit_is_told_keys_with_which_it_would(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, told: str
) -> None:
    let_fit(most, monkeypatch)
    with pytest.raises(RunError, match=told):
        train_with(tiny_config(corpus, tmp_path / "run", FEW_STEPS | {"batch.accumulate": 3}))


def test_a_resumed_run_that_does_not_fit_says_how_to_go_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = tmp_path / "run"
    config = tiny_config(corpus, run_dir, FEW_STEPS)
    train_with(config)
    config.trainer.max_steps = 2
    let_fit(60, monkeypatch)
    with pytest.raises(RunError, match=f"batch.accumulate=4 in a new run with finetune={run_dir}, "):
        train_with(config, resume=True)
    assert checkpoint(run_dir)["global_step"] == 1


@needs_gloo
def test_what_one_process_cannot_do_ends_all_with_one_sentence(corpus: Path, tmp_path: Path) -> None:
    short = "from seq2seq.training import fitting\nfitting.fits = lambda *_: rank == 0"
    done = train_together(tmp_path, *arguments(corpus, tmp_path / "run", {"trainer.strategy": "ddp"}), before=short)
    assert (done.returncode, done.stderr.count("error: ")) == (2, 1), done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: batch.max_tokens=160 needs more memory than there is")


def test_the_trial_changes_nothing(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes at the start of a run, and again when the run is resumed."""
    changes: dict[str, Any] = {
        "optim.optimizer": "muon",
        "tokenizer.subword_regularization": 0.1,
        "trainer.ema_decay": 0.9,
        "trainer.max_epochs": 0,
        "trainer.max_steps": 2,
        "trainer.average_last": 0,
        "data.test": None,
        "decoding.beam_size": 1,
        "batch.accumulate": 2,
    }

    def trained(name: str) -> tuple[dict[str, Any], list[float]]:
        config = tiny_config(corpus, tmp_path / name, changes)
        train_in_parts(config, 1)
        losses = [each.value for each in RunDirectory(tmp_path / name).metrics() if each.name == "train/loss"]
        return checkpoint(config.run_dir), losses

    trials: list[Shape] = []

    def counted(module: TranslationModule, shape: Shape, *more: Any) -> bool:
        trials.append(shape)
        return fits(module, shape, *more)

    monkeypatch.setattr(fitting, "fits", counted)
    with_trial, losses = trained("with")
    assert len(trials) == 2
    monkeypatch.setattr(WorstBatch, "on_train_start", lambda *_: None)
    without, losses_without = trained("without")
    assert losses == losses_without
    for key in ("state_dict", "optimizer_states"):
        assert str(with_trial[key]) == str(without[key]), key
    assert str(callback_states(with_trial)) == str(callback_states(without))
    for name, weight in with_trial["state_dict"].items():
        assert torch.equal(weight, without["state_dict"][name])


def test_the_shapes_of_a_plan_are_those_of_its_batches(corpus: Path, tmp_path: Path) -> None:
    pairs = prepare(tiny_config(corpus, tmp_path)).train
    loader = BatchLoader(pairs, BatchConfig(max_tokens=160), seed=1, world_size=2)
    assert loader.shapes(0) == [(*batch.src.shape, batch.tgt_in.size(1)) for batch in micro_batches(loader)]


def test_the_largest_batch_has_the_most_tokens_and_then_the_longest_sentences() -> None:
    model = ModelConfig()
    short, long, few = Shape(100, 20, 20), Shape(10, 200, 200), Shape(10, 190, 200)
    assert largest([short, long, few], model) == long
    assert largest([Shape(100, 20, 10), Shape(100, 10, 20)], model) == Shape(100, 10, 20)  # a decoder keeps more
    additive = replace(model, attention="additive")  # which keeps numbers for each pair of tokens
    assert largest([Shape(50, 50, 50), Shape(10, 190, 190)], model) == Shape(50, 50, 50)
    assert largest([Shape(50, 50, 50), Shape(10, 190, 190)], additive) == Shape(10, 190, 190)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_moments_are_counted_before_they_are_there(optimizer: str) -> None:
    module = make_module(optimizer=optimizer)
    expected = missing_state(module.configure_optimizers())
    (found,) = fit(module, 1).optimizers
    moments = [value for state in found.state.values() for value in state.values() if torch.is_tensor(value)]
    assert expected == sum(value.nbytes for value in moments if value.dim())
    assert missing_state(found) == 0
