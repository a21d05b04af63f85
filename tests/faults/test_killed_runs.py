"""Training runs that are killed again and again end as one that never was: with data workers, and on two processes."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest

from tests.faults.runs import CHANGES, N_MOMENTS, assert_same, faulty_train, steps_saved
from tests.nightly import IS_NIGHTLY, drawn
from tests.training.launching import TRAIN, end_of, others, started, wait_for
from tests.training.tiny_runs import arguments, command

Fault = tuple[object, ...]

# When a state is about to be written; when there is a model, and no scores.
SOME: list[Fault] = [("SIGKILL", "last.ckpt", 2), ("SIGKILL", "scores.json", 1)]
NOTHING: Fault = ("SIGKILL", "moment", 0)


def test_runs_that_are_killed_end_as_one_that_never_was(tiny_corpus: Path, whole_run: Path, tmp_path: Path) -> None:
    """The one that never was has no data workers. The system closes what the killed one had open; its workers end."""
    draw = drawn("kills")
    many: list[Fault] = [("SIGKILL", "moment", draw.randint(1, N_MOMENTS)) for _ in range(60)]
    words = arguments(tiny_corpus, tmp_path, CHANGES | {"batch.n_workers": 2})
    kill_again_and_again(words, whole_run, many if IS_NIGHTLY else SOME)


@pytest.mark.nightly
def test_runs_on_two_processes_that_are_killed_end_as_one_that_never_was(tiny_corpus: Path, tmp_path: Path) -> None:
    """The first process is killed, or the other one, or both and their data workers."""
    draw, changes = drawn("kills of two"), CHANGES | {"trainer.devices": 2}
    done = command(*arguments(tiny_corpus, tmp_path / "whole", changes))
    assert done.returncode == 0, done.stderr
    many: list[Fault] = []
    for _ in range(10):
        many.append(("SIGKILL", "moment", draw.randint(1, N_MOMENTS)))
        many.append(("SIGKILL", "step", draw.randint(1, 40), 1))  # which has few files
        many.append(("SIGKILL all", "moment", draw.randint(1, N_MOMENTS)))
    draw.shuffle(many)
    words = arguments(tiny_corpus, tmp_path, changes | {"batch.n_workers": 1})
    kill_again_and_again(words, tmp_path / "whole", many)


def kill_again_and_again(words: list[str], whole: Path, faults: Iterable[Fault]) -> None:
    """Start runs, and each of them again after each fault, until the last run has ended without one.

    Args:
        words: with a `run_dir` in which the runs are made.
    """
    (folder,) = (Path(word.removeprefix("run_dir=")) for word in words if word.startswith("run_dir="))
    n_runs = 0
    for fault in chain(faults, [NOTHING]):
        run_dir = folder / f"killed-{n_runs}"
        before = steps_saved(run_dir)
        done = faulty_train([*words, f"run_dir={run_dir}", "resume=auto"], *fault)
        # The process that is left says that the other one was killed, with status 2.
        assert done.returncode in (0, -signal.SIGKILL, *([2] if fault[3:] == (1,) else [])), (fault, done.stderr)
        assert "Traceback" not in done.stderr, (fault, done.stderr)
        assert steps_saved(run_dir) >= before, fault  # nothing that was saved is lost
        if done.returncode == 0:
            assert IS_NIGHTLY or fault is NOTHING, fault  # a moment that is drawn may come after the end
            assert_same(run_dir, whole)
            n_runs += 1
    assert done.returncode == 0, done.stderr


def test_a_data_worker_that_is_killed_ends_the_run_with_a_sentence(tiny_corpus: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    endless = {"trainer.max_epochs": 10**6, "trainer.val_every_n_steps": 5, "batch.n_workers": 1}

    def has_ended() -> bool:
        for worker in others(first):  # each epoch has a new one; nobody misses one that was about to end
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        return first.poll() is not None

    with started(TRAIN, *arguments(tiny_corpus, run_dir, endless), cwd=tmp_path) as first:
        wait_for((run_dir / "checkpoints/last.ckpt").exists, first)
        wait_for(has_ended)
        status, err = end_of(first)
    assert "Traceback" not in err, err
    told = err.splitlines()[-1]
    assert (status, told.startswith("error: a process that makes batches was killed")) == (2, True), told
    assert "batch.n_workers=0" in told and told.endswith(f"; continue with: python -m seq2seq train resume={run_dir}")
