"""The room that checkpoints need, against files of real runs."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.errors import RunError
from seq2seq.model.transformer import Transformer
from seq2seq.training.estimate import CheckpointSizes, check_disk_space
from tests.training.tiny_runs import checkpoint, tiny_config, train_with

STATE, MODEL = 3_000_000_000, 1_000_000_000
SIZES = CheckpointSizes(STATE, MODEL)
FREE = "the disk of run_dir={} has {} free, and "


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets every disk have so many bytes free."""

    def set_free(n_bytes: int, total: int = 10**12) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(total, total - n_bytes, n_bytes))

    return set_free


@pytest.fixture
def warnings_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    """Checks a run of 100 steps, and returns the warnings."""

    def check(changes: dict[str, Any] | None = None, done: int = 0, total: int = 100) -> list[str]:
        caplog.clear()
        defaults = {"trainer.average_last": 2, "trainer.max_rollbacks": 0}
        config = tiny_config(tmp_path, tmp_path, defaults | (changes or {})).trainer
        with caplog.at_level(logging.WARNING):
            check_disk_space(RunDirectory(tmp_path), config, SIZES, done, total, is_new=not done)
        return caplog.messages

    return check


def write(run: RunDirectory, **sizes: int) -> None:
    """Checkpoints of so many bytes, which take no room."""
    run.checkpoints.mkdir(exist_ok=True)
    for name, size in sizes.items():
        with (run.checkpoints / f"{name.replace('_', '-')}.ckpt").open("wb") as file:
            file.truncate(size)


def test_a_disk_without_room_for_the_next_save_ends_the_run(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    disk(STATE + 2 * MODEL - 1)  # the state, the best weights and the latest ones
    with pytest.raises(RunError) as caught:
        warnings_of()
    assert str(caught.value) == (
        f"the disk of run_dir={tmp_path} has 5.0 GB free, and the next save takes 5.0 GB; make room, name another "
        "run_dir or set trainer.average_last=0"
    )
    disk(STATE + MODEL)
    warnings_of({"trainer.average_last": 0})
    disk(400)
    with pytest.raises(RunError, match=r"has 0 kB free, and the next save takes 4\.0 GB; make room or name another"):
        warnings_of({"trainer.average_last": 0})


def test_a_disk_without_room_for_all_saves_is_warned_about(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    needed = 2 * STATE + (1 + 2 + 1 + 1) * MODEL  # best, two to average, the winner, and one being written
    disk(needed)
    assert warnings_of() == []
    disk(needed - 1)
    assert warnings_of() == [
        f"the disk of run_dir={tmp_path} has 11.0 GB free, and all checkpoints of this run take up to 11.0 GB more; "
        "make room or keep fewer weights (trainer.average_last=2)"
    ]
    keeping = {"trainer.keep_best": 4, "trainer.keep_every_n_steps": 30}
    disk(needed + (3 + 3) * MODEL)
    assert warnings_of(keeping) == []
    disk(needed + (3 + 3) * MODEL - 1)
    (warning,) = warnings_of(keeping)
    assert warning.endswith("(trainer.average_last=2, trainer.keep_best=4, trainer.keep_every_n_steps=30)")
    disk(needed - 2 * MODEL - 1)
    assert warnings_of({"trainer.average_last": 0})[0].endswith(" more; make room")
    disk(needed + 3 * MODEL)
    assert warnings_of(keeping, total=0) == []  # only time ends it: how many steps that are, nobody knows


def test_what_a_continued_run_has_already_is_not_counted_again(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    write(run, last=STATE, best=MODEL, recent_00000010=MODEL)
    disk(STATE + MODEL)  # the new state is beside the old one
    assert "take up to 6.0 GB more" in warnings_of(done=10)[0]  # 3 of a state, and 3 models
    disk(STATE + MODEL - 1)
    with pytest.raises(RunError, match=r"make room, move the run to another disk or set trainer\.average_last=0"):
        warnings_of(done=10)
    for _ in range(2):  # the second time, after a save that failed
        run.keep_previous()  # a second name of the same file
    assert run.previous.samefile(run.last) and not list(run.checkpoints.glob(".*"))
    with pytest.raises(RunError, match=r"next save takes 4\.0 GB"):
        warnings_of(done=10)
    write(run, last=STATE, previous=STATE, recent_00000020=MODEL, model=MODEL, step_00000020=MODEL)
    run.previous.unlink()
    write(run, previous=STATE)
    disk(MODEL)
    assert warnings_of(done=20) == []  # everything is there; one is written in place of another
    assert "up to 3.0 GB" in warnings_of({"trainer.keep_every_n_steps": 40}, done=20)[0]
    disk(MODEL - 1)
    with pytest.raises(RunError, match=r"next save takes 1\.0 GB"):
        warnings_of(done=20)


def test_states_to_go_back_to_are_counted(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    run, rollbacks = RunDirectory(tmp_path), {"trainer.max_rollbacks": 1, "trainer.average_last": 0}
    disk(4 * STATE + 3 * MODEL)
    assert warnings_of(rollbacks) == []
    disk(4 * STATE + 3 * MODEL - 1)
    assert "take up to 15.0 GB more" in warnings_of(rollbacks)[0]
    write(run, last=STATE)
    run.keep_good(10)
    run.keep_previous()
    write(run, best=MODEL)
    run.last.unlink()
    write(run, last=STATE)
    disk(STATE + MODEL)  # previous.ckpt has a second name, so its room stays taken when it goes
    assert "take up to 8.0 GB more" in warnings_of(rollbacks, done=10)[0]  # two of four states, and two models
    disk(STATE + MODEL - 1)
    with pytest.raises(RunError, match=r"next save takes 4\.0 GB"):
        warnings_of(rollbacks, done=10)


def test_a_run_that_is_over_only_needs_room_for_its_winner(disk: Any, warnings_of: Any, tmp_path: Path) -> None:
    write(RunDirectory(tmp_path), last=STATE, best=MODEL)
    disk(MODEL)
    assert len(warnings_of(done=100)) == 1
    disk(MODEL - 1)
    with pytest.raises(RunError, match=r"next save takes 1\.0 GB"):
        warnings_of(done=100)


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
    sizes, run = sizes_of(config), RunDirectory(tmp_path / "run")
    rest = 90_000 + checkpoint(run.path)["tokenizer"].numel()
    for files, size in (
        ((run.last, run.previous), sizes.state),
        ((run.best, run.selected, *run.recent()), sizes.model),
    ):
        for file in files:
            assert size <= file.stat().st_size <= size + rest, file
    assert rest < sizes.model


def sizes_of(config: RunConfig) -> CheckpointSizes:
    model = Transformer(config.model, config.tokenizer.vocab_size)
    return CheckpointSizes.of(model, config, config.trainer.precision)


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
    with pytest.raises(RunError, match="move the run to another disk"):
        train_with(config, resume=True)
    assert checkpoint(config.run_dir)["global_step"] == 2
