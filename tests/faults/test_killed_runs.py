"""Training runs that are killed again and again end as one that never was. FAULTS=long kills 60 times in place of 5."""

import itertools
import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.tiny_runs import arguments, checkpoint, command, write_corpus

pytestmark = pytest.mark.slow

N_KILLS = 60 if os.environ.get("FAULTS") == "long" else 5
TIMINGS = ("train/tgt_tokens_per_s", "train/padding_share")  # over what was seen since the last log
CHANGES = {
    "trainer.max_epochs": 4,
    "trainer.val_every_n_steps": 3,
    "trainer.ema_decay": 0.9,
    "trainer.keep_best": 3,
    "trainer.keep_every_n_steps": 4,
    "batch.accumulate": 2,
    "tokenizer.subword_regularization": 0.1,
}
KILLED = """
import os, signal, threading
killer = threading.Timer(float(os.environ["KILL_AFTER_S"]), os.kill, (os.getpid(), signal.SIGKILL))
killer.daemon = True
killer.start()
from seq2seq.cli import front_door
front_door("train")
"""


def what_it_left(run_dir: Path) -> dict[str, Any]:
    rows = [each for each in RunDirectory(run_dir).metrics() if each.name not in TIMINGS]
    files = ("selection.json", "scores.json", "hypotheses/test.en", "summary.txt")
    texts = {name: (run_dir / name).read_text().replace(str(run_dir), "RUN") for name in files}
    return texts | {"metrics": sorted((each.step, each.name, each.value) for each in rows)}


def kill_again_and_again(words: list[str], run_dir: Path, script: Path, draw: random.Random) -> int:
    """Start a run, and start it again after each kill, until it comes to its end. Returns the number of kills."""
    steps: list[int] = []
    while True:
        # What comes too early on one machine is in time on another.
        done = command(*words, script=script, env={"KILL_AFTER_S": str(draw.uniform(0.1, 3))})
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode == 0:
            return len(steps)
        saved = run_dir / "checkpoints" / "last.ckpt"
        steps.append(checkpoint(run_dir)["global_step"] if saved.is_file() else 0)
        assert steps == sorted(steps)  # nothing that was saved is lost
        assert len(steps) < 200  # otherwise it gets nowhere


def test_runs_that_are_killed_end_as_one_that_never_was(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    whole, script = tmp_path / "whole", tmp_path / "train.py"
    done = command(*arguments(corpus, whole, CHANGES))
    assert done.returncode == 0, done.stderr
    script.write_text(KILLED)
    draw, n_kills = random.Random(1), 0
    for number in itertools.count():
        run_dir = tmp_path / f"killed-{number}"
        n_kills += kill_again_and_again([*arguments(corpus, run_dir, CHANGES), "resume=auto"], run_dir, script, draw)
        assert what_it_left(run_dir) == what_it_left(whole)
        names = {file.name for file in (whole / "checkpoints").iterdir()}
        assert names == {file.name for file in (run_dir / "checkpoints").iterdir()}
        for name in names - {"previous.ckpt"}:
            ours, theirs = checkpoint(run_dir, name), checkpoint(whole, name)
            assert ours["global_step"] == theirs["global_step"]
            assert all(torch.equal(ours["state_dict"][key], weight) for key, weight in theirs["state_dict"].items())
        assert not list(run_dir.rglob("*.tmp"))
        if n_kills >= N_KILLS:
            break
