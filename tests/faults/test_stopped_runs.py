"""A run that is told to stop, in each of its phases, and at once again, ends soon and can go on."""

import signal
from pathlib import Path

import pytest

from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from tests.faults.runs import CHANGES, N_MOMENTS, assert_same, faulty_train, steps_saved
from tests.nightly import IS_NIGHTLY, drawn
from tests.training.tiny_runs import arguments, command

SAVED, AT_ONCE = "stopped and saved; continue with: ", "stopped at once; continue with: "
NOTHING = "stopped at once; nothing was saved yet"
# Phase or file, which time, steps that are saved then, what is told. Each goes on where the one before was stopped.
SOME = [
    ("preparation", 1, 0, NOTHING),
    ("step", 1, 1, SAVED),
    ("decoding", 1, 5, SAVED),  # of a validation, which is made up for
    ("test.json", 1, 20, AT_ONCE),  # the analysis
]
ALL = [
    ("composition", 1, 0, ""),
    *SOME[:2],
    ("validation", 1, 5, SAVED),
    ("decoding", 1, 5, SAVED),
    ("best-", 2, 10, SAVED),
    ("last.ckpt", 1, 15, SAVED),
    ("validation", 1, 20, SAVED),
    ("selection", 1, 20, AT_ONCE),
    ("model.ckpt", 1, 20, AT_ONCE),
    ("test", 1, 20, AT_ONCE),
    ("test.en", 1, 20, AT_ONCE),
    ("test.json", 1, 20, AT_ONCE),
    ("report.html", 1, 20, AT_ONCE),
]


@pytest.mark.parametrize("name", ["SIGTERM", *(["SIGUSR1", "SIGHUP"] if IS_NIGHTLY else [])])
def test_a_run_that_is_stopped_in_each_phase_ends_as_one_that_never_was(
    tiny_corpus: Path, whole_run: Path, tmp_path: Path, name: str
) -> None:
    run = RunDirectory(tmp_path / "run")
    words = [*arguments(tiny_corpus, run.path, CHANGES), "resume=auto"]
    for where, number, n_steps, told in ALL if IS_NIGHTLY else SOME:
        done = faulty_train(words, name, where, number)
        assert done.returncode == 128 + getattr(signal, name), (where, done.stderr)
        assert told in done.stderr and "Traceback" not in done.stderr, (where, done.stderr)
        assert not list(tmp_path.rglob("*.tmp")), where
        assert steps_saved(run.path) == n_steps, where
        for file in run.checkpoints.glob("*.ckpt"):
            read_checkpoint(file)
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert_same(run.path, whole_run)


@pytest.mark.nightly
def test_a_run_that_is_stopped_at_random_moments_ends_as_one_that_never_was(
    tiny_corpus: Path, whole_run: Path, tmp_path: Path
) -> None:
    draw, stopped_at, number = drawn("stops"), list[int](), 0
    while len(stopped_at) < 40:
        run_dir = tmp_path / f"run-{number}"
        words = [*arguments(tiny_corpus, run_dir, CHANGES), "resume=auto"]
        status = 143
        while status:
            stopped_at.append(draw.randint(1, N_MOMENTS))
            done = faulty_train(words, "SIGTERM", "moment", stopped_at[-1])
            status = done.returncode
            # When all is done and told, nobody handles signals any more.
            is_over = status == -signal.SIGTERM and "translate with:" in done.stderr
            assert status in (0, 143) or is_over, (stopped_at, done.stderr)
            assert "Traceback" not in done.stderr, (stopped_at, done.stderr)
            assert not list(tmp_path.rglob("*.tmp")), stopped_at
        stopped_at.pop()
        assert_same(run_dir, whole_run)
        number += 1
