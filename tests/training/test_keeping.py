"""The best k validations and every n-th step stay; an epoch has 8 steps here."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.places import made_once
from tests.training.tiny_runs import checkpoint, tiny_config, train_in_parts, train_with, values_of

CHANGES = {
    "batch.max_tokens": 300,
    "decoding.beam_size": 1,
    "data.test": None,
    "trainer.max_epochs": 2,
    "trainer.val_every_n_steps": 3,
    "trainer.monitor": "valid/loss",
    "optim.lr": 0.5,  # good and bad steps
    "trainer.ema_decay": 0.8,
}
KEEPING = CHANGES | {"trainer.keep_best": 2, "trainer.keep_every_n_steps": 7}


@pytest.fixture(scope="session")
def kept(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that keeps more than others."""
    return RunDirectory(
        made_once(tmp_path_factory, "kept", lambda folder: train_with(tiny_config(corpus, folder, KEEPING)))
    )


def names(run: RunDirectory, kind: str = "*") -> list[str]:
    return sorted(file.name for file in run.checkpoints.glob(f"{kind}.ckpt"))


def same_weights(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    ours, theirs = ours["state_dict"], theirs["state_dict"]
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], weight) for name, weight in theirs.items())


def test_the_best_validations_are_kept_with_their_metrics(kept: RunDirectory) -> None:
    found = values_of(kept.path, "valid/loss")
    assert len(found) == 5
    best = sorted(found, key=lambda step: found[step])[:2]
    assert sorted(best) != sorted(found)[-2:]  # otherwise the latest ones would do
    assert names(kept, "best-*") == [f"best-{step:08d}.ckpt" for step in sorted(best)]
    for step in best:
        content = checkpoint(kept.path, f"best-{step:08d}.ckpt")
        assert content["global_step"] == step
        assert content["metrics"]["loss"] == pytest.approx(found[step], rel=1e-6)
        assert content["metrics"].keys() > {"bleu", "chrf"}
    assert kept.best.samefile(kept.best_at(best[0]))  # takes no more of the disk
    assert names(kept, "recent-*") == ["recent-00000012.ckpt", "recent-00000015.ckpt"]


def test_every_nth_step_is_kept_with_the_weights_that_are_validated(corpus: Path, tmp_path: Path) -> None:
    changes = {"trainer.max_steps": 4, "trainer.keep_every_n_steps": 2, "trainer.ema_decay": 0.8, "data.test": None}
    changes |= {"trainer.average_last": 0, "decoding.beam_size": 1}
    run = RunDirectory(tmp_path / "run")
    config = tiny_config(corpus, run.path, changes)
    train_with(config)
    assert names(run, "step-*") == ["step-00000002.ckpt", "step-00000004.ckpt"]
    last, step = checkpoint(run.path), checkpoint(run.path, "step-00000004.ckpt")
    ema = last["callbacks"]["ExponentialAverage"]["weights"]
    watched = last["state_dict"] | {f"model.{name}": weight for name, weight in ema.items()}
    assert same_weights(step, {"state_dict": watched})
    assert step["global_step"] == 4 and "optimizer_states" not in step
    run.kept_at(4).unlink()  # as if the disk became full when the state of this step was there already
    train_with(config, resume=True)
    assert same_weights(checkpoint(run.path, "step-00000004.ckpt"), step)


def test_a_continued_run_keeps_what_an_unbroken_one_keeps(corpus: Path, tmp_path: Path, kept: RunDirectory) -> None:
    parts = RunDirectory(tmp_path / "run")
    train_in_parts(tiny_config(corpus, parts.path, KEEPING), 12)
    kinds = ("best*", "step-*", "recent-*", "last", "model")  # where it was saved decides the others
    for kind in kinds:
        assert names(parts, kind) == names(kept, kind) != []
        for name in names(kept, kind):
            ours, theirs = checkpoint(parts.path, name), checkpoint(kept.path, name)
            assert ours["global_step"] == theirs["global_step"], name
            assert same_weights(ours, theirs), name


@pytest.mark.nightly
def test_keeping_more_changes_nothing_else(corpus: Path, tmp_path: Path, kept: RunDirectory) -> None:
    plain = RunDirectory(tmp_path / "run")
    train_with(tiny_config(corpus, plain.path, CHANGES))
    assert not names(plain, "best-*") and not names(plain, "step-*")
    for name in ("last.ckpt", "best.ckpt", "model.ckpt"):
        assert same_weights(checkpoint(plain.path, name), checkpoint(kept.path, name)), name
    assert (plain.path / "selection.json").read_bytes() == (kept.path / "selection.json").read_bytes()


def test_fewer_may_be_kept_from_here_on(corpus: Path, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    changes = {"trainer.val_every_n_steps": 1, "trainer.valid_sentences": 1, "data.test": None}
    changes |= {"trainer.average_last": 0, "decoding.beam_size": 1}
    for n_steps, keep, n_kept in ((3, 3, 3), (4, 1, 0)):
        limits = {"trainer.max_steps": n_steps, "trainer.keep_best": keep}
        train_with(tiny_config(corpus, run.path, changes | limits), resume=n_steps > 3)
        assert len(values_of(run.path, "valid/loss")) == n_steps and len(names(run, "best-*")) == n_kept
    assert run.best.is_file()


def test_without_links_the_best_one_is_a_copy(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*args: Any) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    run = RunDirectory(tmp_path / "run")
    train_with(tiny_config(corpus, run.path, CHANGES | {"trainer.max_steps": 3, "trainer.keep_best": 2}))
    (only,) = run.all_best()
    assert only.read_bytes() == run.best.read_bytes() and not only.samefile(run.best)
    assert not run.previous.exists()
