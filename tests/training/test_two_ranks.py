"""A run on two processes is saved in time, ends if either of them does, stops if either is told to, and goes on."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.faults.runs import what_it_left
from tests.training.launching import run
from tests.training.tiny_runs import arguments, checkpoint
from tests.training.two_ranks import at_a_free_port, launcher, train_together

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

# As a run that saves every ten minutes, seen through a time lapse. Its other process gets a signal after a step.
SAVES_OFTEN = """
import os
from seq2seq.training import milestones
from seq2seq.training.module import TranslationModule

def stop(module, outputs, batch, index):
    if module.n_steps == {step} and os.environ.get("RANK") == "1":
        os.kill(os.getpid(), {signum})

milestones.SAVE_EVERY_S = 0.0
milestones.STEPS_BETWEEN_AGREEMENTS = 3
TranslationModule.on_train_batch_end = stop
"""
# Both processes are this script.
STARTED = """
import sys
from seq2seq.cli import front_door
from seq2seq.training import processes

processes.TRAIN = (sys.executable, __file__)
front_door("train")
"""
CHANGES: dict[str, Any] = {
    "trainer.devices": 2,
    "trainer.max_epochs": 0,
    "trainer.max_steps": 100,
    "trainer.val_every_n_steps": 10**6,
    "trainer.ema_decay": 0.9,
    "batch.accumulate": 2,
    "tokenizer.subword_regularization": 0.1,
    "decoding.beam_size": 1,
}


def test_a_run_that_was_killed_and_stopped_goes_on_to_the_bit(corpus: Path, tmp_path: Path) -> None:
    parts, whole, script = tmp_path / "parts", tmp_path / "whole", tmp_path / "train_often.py"
    script.write_text(SAVES_OFTEN.format(step=5, signum=int(signal.SIGKILL)) + STARTED)
    status, err = run(script, *arguments(corpus, parts, CHANGES), cwd=tmp_path)
    assert (status, "Traceback" in err) == (2, False)
    assert "process 1 of this run was killed by signal 9" in err.splitlines()[-1]
    assert f"resume={parts}" in err.splitlines()[-1]
    assert checkpoint(parts)["global_step"] == 3  # no validation was due that would save

    stopping = SAVES_OFTEN.format(step=7, signum=int(signal.SIGTERM))  # the first process does not get it
    status, err = run(launcher(tmp_path, stopping), f"resume={parts}", cwd=tmp_path, **at_a_free_port())
    assert (status, err.splitlines()[-1]) == (
        128 + signal.SIGTERM,
        f"stopped and saved; continue with: python -m seq2seq train resume={parts}",
    )
    assert checkpoint(parts)["global_step"] == max(each.step for each in RunDirectory(parts).metrics()) == 9

    for words in (
        [f"resume={parts}", "trainer.max_steps=11"],
        arguments(corpus, whole, CHANGES | {"trainer.max_steps": 11}),
    ):
        done = train_together(tmp_path, *words)
        assert done.returncode == 0, done.stderr
    assert what_it_left(parts) == what_it_left(whole)
    for name in ("last.ckpt", "model.ckpt"):
        ours, theirs = (checkpoint(run_dir, name)["state_dict"] for run_dir in (parts, whole))
        assert all(torch.equal(ours[key], weight) for key, weight in theirs.items())
