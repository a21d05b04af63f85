"""A run on two processes is saved in time, ends if either of them does, stops if either is told to, and goes on."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training.callbacks.milestones import STEPS_BETWEEN_AGREEMENTS
from tests.training.launching import end_of, others, started, wait_for
from tests.training.tiny_runs import TIMINGS, arguments, checkpoint
from tests.training.two_ranks import at_a_free_port, launcher, train_together

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

# As a run that saves every ten minutes, seen through a time lapse.
SAVES_OFTEN = """
from seq2seq.cli import front_door
from seq2seq.training.callbacks import milestones

milestones.SAVE_EVERY_S = 0.0
front_door("train")
"""
CHANGES: dict[str, Any] = {
    "trainer.devices": 2,
    "trainer.max_epochs": 0,
    "trainer.max_steps": 10**6,
    "trainer.val_every_n_steps": 10**6,
    "trainer.ema_decay": 0.9,
    "batch.accumulate": 2,
    "tokenizer.subword_regularization": 0.1,
}


def last_logged(run_dir: Path) -> int:
    """The optimizer steps that `metrics.csv` has."""
    return max((each.step + 1 for each in RunDirectory(run_dir).metrics()), default=0)


def test_a_run_that_was_killed_and_stopped_goes_on_to_the_bit(corpus: Path, tmp_path: Path) -> None:
    parts, whole, script = tmp_path / "parts", tmp_path / "whole", tmp_path / "train_often.py"
    script.write_text(SAVES_OFTEN)
    with started(script, *arguments(corpus, parts, CHANGES), cwd=tmp_path) as first:
        wait_for((parts / "checkpoints/previous.ckpt").exists, first)  # no validation was due that would save
        (other,) = others(first)
        os.kill(other, signal.SIGKILL)
        status, err = end_of(first)
    assert (status, "Traceback" in err) == (2, False)
    assert "process 1 of this run was killed by signal 9" in err.splitlines()[-1]
    assert f"resume={parts}" in err.splitlines()[-1]
    killed_at = checkpoint(parts)["global_step"]
    assert killed_at and killed_at % STEPS_BETWEEN_AGREEMENTS == 0

    logged = last_logged(parts)  # beyond what was saved; the run that goes on takes these steps again
    with started(launcher(tmp_path), f"resume={parts}", cwd=tmp_path, **at_a_free_port()) as first:
        wait_for(lambda: last_logged(parts) > logged, first)
        (other,) = others(first)
        os.kill(other, signal.SIGTERM)  # the first process does not get it
        status, err = end_of(first)
    assert (status, err.splitlines()[-1]) == (
        128 + signal.SIGTERM,
        f"stopped and saved; continue with: python train.py resume={parts}",
    )
    stopped_at = checkpoint(parts)["global_step"]
    assert stopped_at > killed_at and stopped_at % STEPS_BETWEEN_AGREEMENTS == 0
    assert last_logged(parts) == stopped_at

    end = stopped_at + 7
    for words in (
        [f"resume={parts}", f"trainer.max_steps={end}"],
        arguments(corpus, whole, CHANGES | {"trainer.max_steps": end}),
    ):
        done = train_together(tmp_path, *words)
        assert done.returncode == 0, done.stderr
    assert what_it_left(parts) == what_it_left(whole)
    for name in ("last.ckpt", "model.ckpt"):
        ours, theirs = (checkpoint(run_dir, name)["state_dict"] for run_dir in (parts, whole))
        assert all(torch.equal(ours[key], weight) for key, weight in theirs.items())


def what_it_left(run_dir: Path) -> Any:
    metrics = [(each.step, each.name, each.value) for each in RunDirectory(run_dir).metrics()]
    names = ("selection.json", "scores.json", "hypotheses/test.en", "sources/test.fr", "analysis/test.json")
    files = [(run_dir / name).read_text() for name in names]
    return sorted(each for each in metrics if each[1] not in TIMINGS), files
