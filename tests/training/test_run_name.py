from datetime import datetime
from pathlib import Path

import pytest

from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.config.compose import composed
from seq2seq.training.composed import run_name, run_of

TIME = datetime(2026, 11, 24, 9, 5, 59)


def test_a_name_says_what_differs_and_when() -> None:
    words = ["experiment=demo", "optim.lr=2e-3", "+data.test.chat=b", "model=small", "seed=2", "augment=people"]
    assert run_name("demo", words, TIME) == (
        "demo optim.lr=2e-3 data.test.chat=b model=small seed=2 augment=people (11-24 09:05)"
    )
    assert run_name("demo", [], TIME) == "demo (11-24 09:05)"


def test_what_decides_nothing_is_left_out() -> None:
    words = ["run_dir=runs/a", "data.dir=/corpus", "logger=wandb", "logger.wandb_notes=why", "trainer.threads=2"]
    assert run_name("demo", [*words, "data=files", "trainer=cpu", "finetune=runs/b", "name=demo"], TIME) == (
        "demo data=files trainer=cpu finetune=runs/b (11-24 09:05)"
    )


def test_a_job_is_called_by_what_differs_from_other_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_NAME", raising=False)
    sweep, job = SweepDirectory(tmp_path), "003_optim.lr=0.0123"
    sweep.write_search({})
    shared = [f"data.train=[{'x' * 300}]", "optim.lr=0.0123"]
    with composed([*shared, f"run_dir={sweep.run(job).path}"]) as found:
        assert run_of(found)[0].logger.wandb_name == f"default {job}"


def test_a_name_stays_short() -> None:
    name = run_name("demo", [f"data.train=[{'x' * 300}]"], TIME)
    assert name == f"demo data.train=[{'x' * 65}... (11-24 09:05)"
    assert len(name) <= 128
