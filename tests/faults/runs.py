"""A training run to which faults happen, and what it must be equal to at its end."""

import json
import subprocess
from pathlib import Path
from typing import Any

import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.places import ROOT
from tests.training.tiny_runs import TIMINGS, checkpoint, command

FAULTY_TRAIN = ROOT / "tests/faults/faulty_train.py"
N_MOMENTS = 1_200  # in a whole run, as `faulty_train.py` counts them
# It saves after step 4, whose weights stay, and after each validation. An epoch has 4 steps and a half.
CHANGES: dict[str, Any] = {
    "trainer.max_epochs": 0,
    "trainer.max_steps": 20,
    "trainer.val_every_n_steps": 5,
    "trainer.keep_best": 2,
    "trainer.keep_every_n_steps": 4,
    "trainer.ema_decay": 0.9,
    "batch.accumulate": 2,
    "tokenizer.subword_regularization": 0.1,
}


def assert_same(run_dir: Path, whole: Path) -> None:
    """Both runs left the same weights, metrics, scores and translations."""
    assert what_it_left(run_dir) == what_it_left(whole)
    # Which state is on trial, as good-STEP.ckpt, depends on when it was saved.
    names = {file.name for file in (whole / "checkpoints").iterdir() if not file.match("good-*")}
    found = {file.name for file in (run_dir / "checkpoints").iterdir() if not file.match("good-*")}
    assert found == names, found ^ names
    for name in names - {"previous.ckpt"}:
        ours, theirs = checkpoint(run_dir, name), checkpoint(whole, name)
        assert ours["global_step"] == theirs["global_step"], name
        assert all(torch.equal(ours["state_dict"][key], weight) for key, weight in theirs["state_dict"].items()), name
    assert not list(run_dir.rglob("*.tmp"))


def steps_saved(run_dir: Path) -> int:
    return int(checkpoint(run_dir)["global_step"]) if RunDirectory(run_dir).last.is_file() else 0


def faulty_train(words: list[str], *fault: object, **variables: str) -> "subprocess.CompletedProcess[str]":
    """`train.py` with a fault, as `faulty_train.py` has them."""
    return command(*words, script=FAULTY_TRAIN, env={"FAULT": json.dumps(fault)} | variables)


def what_it_left(run_dir: Path) -> dict[str, Any]:
    rows = [each for each in RunDirectory(run_dir).metrics() if each.name not in TIMINGS]
    of_test = ("hypotheses/test.en", "references/test.en", "sources/test.fr", "analysis/test.json")
    files = ("selection.json", "scores.json", *of_test, "summary.txt")
    texts = {name: (run_dir / name).read_text().replace(str(run_dir), "RUN") for name in files}
    return texts | {"metrics": sorted((each.step, each.name, each.value) for each in rows)}
