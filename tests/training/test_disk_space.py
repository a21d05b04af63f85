"""The space that checkpoints need, against files of real runs."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import RunError
from seq2seq.training.estimate import CheckpointSizes, check_disk_space
from seq2seq.training.module import TranslationModule
from tests.training.tiny_runs import checkpoint, tiny_config, train_with

STATE, MODEL = 3_000_000_000, 1_000_000_000
SIZES = CheckpointSizes(STATE, MODEL)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[int], None]:
    """Lets the disk of the test's folder have so many bytes free."""

    def set_free(n_bytes: int, total: int = 10**12) -> None:
        def usage(path: Path) -> SimpleNamespace:
            assert path.is_relative_to(tmp_path)
            return SimpleNamespace(total=total, free=n_bytes)

        monkeypatch.setattr(shutil, "disk_usage", usage)

    return set_free


@pytest.fixture
def warnings_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    """Checks a run of 100 steps, and returns the warnings."""

    def check(changes: dict[str, Any] | None = None, total: int = 100) -> list[str]:
        caplog.clear()
        defaults = {"trainer.average_last": 2, "trainer.max_rollbacks": 0}
        config = tiny_config(tmp_path, tmp_path, defaults | (changes or {})).trainer
        with caplog.at_level(logging.WARNING):
            check_disk_space(RunDirectory(tmp_path), config, SIZES, total)
        return caplog.messages

    return check


def write(run: RunDirectory, **sizes: int) -> None:
    """Checkpoints of so many bytes, which take no space."""
    run.checkpoints.mkdir(exist_ok=True)
    for name, size in sizes.items():
        with (run.checkpoints / f"{name.replace('_', '-')}.ckpt").open("wb") as file:
            file.truncate(size)


def test_a_disk_without_space_for_the_next_save_ends_the_run(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    disk(STATE + 2 * MODEL - 1)  # the state, the best weights and the latest ones
    with pytest.raises(RunError) as caught:
        warnings_of()
    assert str(caught.value) == (
        f"the disk of run_dir={tmp_path} has 5.0 GB free, and the next save takes 5.0 GB; make room, or name another "
        "run_dir"
    )
    disk(STATE + MODEL)
    warnings_of({"trainer.average_last": 0})
    disk(400)
    with pytest.raises(RunError, match=r"has 0 kB free, and the next save takes 4\.0 GB; make room, or name another"):
        warnings_of({"trainer.average_last": 0})


def test_a_disk_without_space_for_all_saves_is_warned_about(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    needed = 2 * STATE + (1 + 2 + 1 + 1) * MODEL  # best, two to average, the winner, and one being written
    disk(needed)
    assert warnings_of() == []
    disk(needed - 1)
    assert warnings_of() == [
        f"the disk of run_dir={tmp_path} has 11.0 GB free, and all checkpoints of this run take up to 11.0 GB more; "
        "make room, or lower trainer.keep_best, trainer.average_last or raise trainer.keep_every_n_steps"
    ]
    keeping = {"trainer.keep_best": 4, "trainer.keep_every_n_steps": 30}
    disk(needed + (3 + 3) * MODEL)
    assert warnings_of(keeping) == []
    disk(needed + (3 + 3) * MODEL - 1)
    assert len(warnings_of(keeping)) == 1
    disk(needed + 3 * MODEL)
    assert warnings_of(keeping, total=0) == []  # only time ends it: how many steps that are, nobody knows
    disk(needed + 2 * STATE)
    assert warnings_of({"trainer.max_rollbacks": 1}) == []  # a state to go back to, and one on trial
    disk(needed + 2 * STATE - 1)
    assert len(warnings_of({"trainer.max_rollbacks": 1})) == 1


def test_what_a_continued_run_has_already_is_not_counted_again(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    write(run, last=STATE, best=MODEL, recent_00000010=MODEL)
    run.keep_previous()  # a second name of the same file
    disk(STATE + 3 * MODEL)
    assert warnings_of() == []
    disk(STATE + 3 * MODEL - 1)
    assert "take up to 6.0 GB more" in warnings_of()[0]
    disk(STATE + MODEL - 1)
    with pytest.raises(RunError, match=r"the next save takes 4\.0 GB; make room$"):
        warnings_of()
    run.previous.unlink()
    write(run, previous=STATE)  # a file of its own, in whose place `last` comes
    disk(MODEL)
    warnings_of()
    disk(MODEL - 1)
    with pytest.raises(RunError, match=r"the next save takes 1\.0 GB; make room$"):
        warnings_of()


def test_a_disk_that_does_not_say_is_left_alone(disk: Any, warnings_of: Any) -> None:
    disk(0, total=0)
    assert warnings_of() == []


SMALL = {
    "model.d_model": 128,
    "model.d_ff": 160,
    "trainer.max_steps": 2,
    "trainer.val_every_n_steps": 2,
    "trainer.valid_sentences": 1,
    "decoding.beam_size": 1,
}


@pytest.mark.parametrize(
    "changes",
    [
        {"optim.optimizer": "muon", "trainer.ema_decay": 0.9, "model.embeddings": "separate"},
        {"trainer.precision": "bf16-true"},
    ],
    ids=["muon_ema", "bf16"],
)
def test_the_sizes_are_those_of_the_files(corpus: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    config = tiny_config(corpus, tmp_path / "run", SMALL | changes)
    train_with(config)
    module = TranslationModule(config, prepare(config).tokenizer, total_steps=0)
    sizes, run = CheckpointSizes.of(module, config.trainer.precision), RunDirectory(tmp_path / "run")
    rest = 90_000 + checkpoint(run.path)["tokenizer"].numel()
    for files, size in (
        ((run.last, run.previous), sizes.state),
        ((run.best, run.selected, *run.recent()), sizes.model),
    ):
        for file in files:
            assert size <= file.stat().st_size <= size + rest, file
    assert rest < sizes.model


def test_a_run_is_refused_before_anything_is_written(corpus: Path, tmp_path: Path, disk: Any) -> None:
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_steps": 2, "data.test": []})
    disk(5_000)
    with pytest.raises(RunError, match="has 5 kB free, and the next save takes"):
        train_with(config)
    assert not (tmp_path / "run").exists()
    disk(10**9)
    train_with(config)
    disk(5_000)
    config.trainer.max_steps = 4
    with pytest.raises(RunError, match=r"the next save takes .*; make room$"):
        train_with(config, resume=True)
    assert checkpoint(config.run_dir)["global_step"] == 2
