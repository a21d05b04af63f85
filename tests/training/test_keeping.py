"""The best k validations and every n-th step stay; an epoch of the small corpus has 15 steps."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.tiny_runs import checkpoint, command, tiny_config, train_in_parts, train_with

pytestmark = pytest.mark.slow

CHANGES = {
    "trainer.max_epochs": 2,
    "trainer.val_every_n_steps": 4,
    "trainer.monitor": "valid/loss",
    "optim.lr": 0.05,  # good and bad steps
    "trainer.ema_decay": 0.8,
}
KEEPING = CHANGES | {"trainer.keep_best": 3, "trainer.keep_every_n_steps": 7}


@pytest.fixture(scope="module")
def kept(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that keeps more than others."""
    run_dir = tmp_path_factory.mktemp("kept") / "run"
    train_with(tiny_config(corpus, run_dir, KEEPING))
    return RunDirectory(run_dir)


def names(run: RunDirectory, kind: str = "*") -> list[str]:
    return sorted(file.name for file in run.checkpoints.glob(f"{kind}.ckpt"))


def losses(run: RunDirectory) -> dict[int, float]:
    """Of each validation, by the number of steps that were done."""
    return {each.step + 1: each.value for each in run.metrics() if each.name == "valid/loss"}


def same_weights(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    ours, theirs = ours["state_dict"], theirs["state_dict"]
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], weight) for name, weight in theirs.items())


def test_the_best_validations_are_kept_with_their_metrics(kept: RunDirectory) -> None:
    found = losses(kept)
    assert len(found) == 7
    best = sorted(found, key=lambda step: found[step])[:3]
    assert best != sorted(found)[-3:] or best[0] != max(found)  # otherwise the latest ones would do
    assert names(kept, "best-*") == [f"best-{step:08d}.ckpt" for step in sorted(best)]
    for step in best:
        content = checkpoint(kept.path, f"best-{step:08d}.ckpt")
        assert content["global_step"] == step
        assert content["metrics"]["loss"] == pytest.approx(found[step], rel=1e-6)
        assert content["metrics"].keys() > {"bleu", "chrf"}
    assert kept.best.samefile(kept.best_at(best[0]))  # costs no further room
    assert names(kept, "recent-*") == ["recent-00000024.ckpt", "recent-00000028.ckpt"]


def test_every_nth_step_is_kept_with_the_weights_that_are_validated(corpus: Path, tmp_path: Path) -> None:
    changes = {"trainer.max_steps": 6, "trainer.max_epochs": 0, "trainer.keep_every_n_steps": 3, "trainer.patience": 9}
    for decay in (0.0, 0.8):
        run = RunDirectory(tmp_path / f"run-{decay}")
        train_with(tiny_config(corpus, run.path, changes | {"trainer.ema_decay": decay}))
        assert names(run, "step-*") == ["step-00000003.ckpt", "step-00000006.ckpt"]
        last, step = checkpoint(run.path), checkpoint(run.path, "step-00000006.ckpt")
        ema = last["callbacks"]["ExponentialAverage"]["weights"] if decay else {}
        watched = last["state_dict"] | {f"model.{name}": weight for name, weight in ema.items()}
        assert same_weights(step, {"state_dict": watched})
        assert step["global_step"] == 6 and "loops" not in step


def test_a_continued_run_keeps_what_an_unbroken_one_keeps(corpus: Path, tmp_path: Path, kept: RunDirectory) -> None:
    parts = RunDirectory(tmp_path / "run")
    train_in_parts(tiny_config(corpus, parts.path, KEEPING), 7, 8, 21)
    kinds = ("best*", "step-*", "recent-*", "last", "model")  # where it was saved decides the others
    for kind in kinds:
        assert names(parts, kind) == names(kept, kind) != []
        for name in names(kept, kind):
            ours, theirs = checkpoint(parts.path, name), checkpoint(kept.path, name)
            assert ours["global_step"] == theirs["global_step"], name
            assert same_weights(ours, theirs), name


def test_keeping_more_changes_nothing_else(corpus: Path, tmp_path: Path, kept: RunDirectory) -> None:
    plain = RunDirectory(tmp_path / "run")
    train_with(tiny_config(corpus, plain.path, CHANGES))
    assert not names(plain, "best-*") and not names(plain, "step-*")
    for name in ("last.ckpt", "best.ckpt", "model.ckpt"):
        assert same_weights(checkpoint(plain.path, name), checkpoint(kept.path, name)), name
    for name in ("selection.json", "scores.json"):
        assert (plain.path / name).read_bytes() == (kept.path / name).read_bytes()


def test_fewer_may_be_kept_from_here_on(corpus: Path, tmp_path: Path) -> None:
    run, changes = RunDirectory(tmp_path / "run"), {"trainer.max_steps": 12, "trainer.val_every_n_steps": 3}
    train_with(tiny_config(corpus, run.path, changes | {"trainer.keep_best": 3}))
    assert len(names(run, "best-*")) == 3
    config = tiny_config(corpus, run.path, changes | {"trainer.max_steps": 13})
    train_with(config, resume=True)
    assert len(names(run, "best-*")) == 3  # no validation has come
    config.trainer.max_steps, config.trainer.keep_best = 15, 2
    train_with(config, resume=True)
    found = losses(run)
    assert len(names(run, "best-*")) == 2 and len(found) == 5
    config.trainer.max_steps, config.trainer.keep_best = 18, 1
    train_with(config, resume=True)
    assert names(run, "best*") == ["best.ckpt"]


def test_without_links_the_best_one_is_a_copy(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*args: Any) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    run = RunDirectory(tmp_path / "run")
    train_with(tiny_config(corpus, run.path, {"trainer.max_epochs": 1, "trainer.keep_best": 2}))
    (only,) = run.all_best()
    assert only.read_bytes() == run.best.read_bytes() and not only.samefile(run.best)
    assert not run.previous.exists()


def test_what_is_kept_translates_alone_and_together(kept: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("ba bi\nma\n")
    words = ["--input", str(tmp_path / "in"), "--device", "cpu", "--workers", "1"]
    for files in ([kept.all_best()[0]], [kept.kept_at(14)], kept.all_best()):
        done = command("--model", *map(str, files), *words, script="translate.py")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 2
