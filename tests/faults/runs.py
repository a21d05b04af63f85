"""A training run to which faults happen, and what it must be equal to at its end."""

from pathlib import Path
from typing import Any

import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.places import ROOT
from tests.training.tiny_runs import TIMINGS, checkpoint

FAULTY_TRAIN = ROOT / "tests/faults/faulty_train.py"
# It saves after step 4, whose weights stay, and after each validation.
CHANGES = {
    "trainer.max_epochs": 0,
    "trainer.max_steps": 20,
    "trainer.val_every_n_steps": 5,
    "trainer.keep_best": 2,
    "trainer.keep_every_n_steps": 4,
    "trainer.ema_decay": 0.9,
}


def assert_same(run_dir: Path, whole: Path) -> None:
    """Both runs left the same weights, metrics, scores and translations."""
    assert what_it_left(run_dir) == what_it_left(whole)
    # Which state is on trial, as good-STEP.ckpt, depends on when it was saved.
    names = {file.name for file in (whole / "checkpoints").iterdir() if not file.match("good-*")}
    assert names == {file.name for file in (run_dir / "checkpoints").iterdir() if not file.match("good-*")}
    for name in names - {"previous.ckpt"}:
        ours, theirs = checkpoint(run_dir, name), checkpoint(whole, name)
        assert ours["global_step"] == theirs["global_step"], name
        assert all(torch.equal(ours["state_dict"][key], weight) for key, weight in theirs["state_dict"].items()), name


def what_it_left(run_dir: Path) -> dict[str, Any]:
    rows = [each for each in RunDirectory(run_dir).metrics() if each.name not in TIMINGS]
    of_test = ("hypotheses/test.en", "references/test.en", "sources/test.fr", "analysis/test.json")
    files = ("selection.json", "scores.json", *of_test, "summary.txt")
    texts = {name: (run_dir / name).read_text().replace(str(run_dir), "RUN") for name in files}
    return texts | {"metrics": sorted((each.step, each.name, each.value) for each in rows)}
