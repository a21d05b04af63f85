"""Runs that are online, at a server on this machine: one that works, and one that hangs or answers with errors."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl

from seq2seq.artifacts import trained_model
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training import trackers, wandb_end
from seq2seq.training.loggers import open_loggers
from tests.training.tiny_runs import checkpoint, tiny_config, train_with
from tests.training.wandb_file import read_run
from tests.training.wandb_server import WandbServer, wandb_server

N_STEPS = 6
WANDB = {
    "logger.wandb": True,
    "logger.wandb_project": "reversing",
    "logger.n_samples": 2,
    "trainer.max_steps": N_STEPS,
    "trainer.val_every_n_steps": 3,
    "decoding.beam_size": 1,
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WandbServer]:
    """A server, and credentials for it."""
    import wandb

    wandb.teardown()  # of an earlier test: W&B reads the environment once
    with wandb_server() as server:
        for name in ("WANDB_MODE", "NETRC"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setattr(trackers, "ONLINE_TIMEOUT_S", 120)
        yield server
        let_fail(server, 200)  # which W&B would wait for
        wandb.teardown()


class BreakAt(pl.Callback):
    """Lets the server hang, or answer with an error, when so many steps are done."""

    def __init__(self, server: WandbServer, step: int, status: int) -> None:
        self.server, self.step, self.status = server, step, status

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any) -> None:
        if pl_module.n_steps == self.step:
            let_fail(self.server, self.status)


def let_fail(server: WandbServer, status: int) -> None:
    """status: of the answers; 0: there are none."""
    server.is_hanging, server.status = not status, status or 200


def is_whole(run_dir: Path) -> bool:
    """Whether the run came to its end, and `metrics.csv` has each step once."""
    run = RunDirectory(run_dir)
    return run.is_scored and [m.step for m in run.metrics() if m.name == "train/loss"] == list(range(N_STEPS))


def test_an_online_run_arrives_and_goes_on_under_its_id(
    server: WandbServer, corpus: Path, tmp_path: Path, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(corpus, tmp_path / "run", WANDB | {"logger.upload_model": True, "trainer.max_steps": 3})
    with caplog.at_level(logging.INFO, "seq2seq"):
        train_with(config)
        config.trainer.max_steps = N_STEPS
        train_with(config, resume=True)
    assert caplog.text.count("W&B is online: it uploads") == 2 and "seq2seq sync" not in caplog.text
    ((run_id, run),) = server.runs.items()
    assert checkpoint(tmp_path / "run")["wandb_id"] == run_id
    steps = [(row["trainer/global_step"], row["train/loss"]) for row in run.history if "train/loss" in row]
    assert [step for step, _ in steps] == list(range(N_STEPS))
    in_csv = [each.value for each in RunDirectory(tmp_path / "run").metrics() if each.name == "train/loss"]
    assert [loss for _, loss in steps] == pytest.approx(in_csv, rel=1e-5)
    scores = json.loads((tmp_path / "run/scores.json").read_text())["test"]
    assert run.summary["test/test/chrf"] == pytest.approx(scores["chrf"]["score"], abs=1e-4)
    assert run.summary["ended"] == f"after step {N_STEPS}: trainer.max_steps={N_STEPS} was reached"
    assert run.exit_code == 0
    assert "ArtifactType" not in server.operations  # for whose answer the run would wait at each table
    assert run.config["starts"][0]["command"] and len(run.config["starts"]) == 2
    tables = [name for name in server.files if name.startswith(f"{run_id}/media/table/valid/samples")]
    assert len(tables) >= 2
    assert f"{run_id}/wandb-metadata.json" in server.files
    corpus_artifact, model = server.artifact("corpus-reversing-fr-en:latest"), server.artifact("default-fr-en:latest")
    assert set(corpus_artifact.used_by) == {run_id} and corpus_artifact.version == 0  # of both starts
    assert model.made_by == run_id
    tokenizer = server.files[f"{server.artifact('tokenizer-reversing-fr-en:latest').id}/tokenizer.model"]
    assert tokenizer == (tmp_path / "run/export/safetensors/tokenizer.model").read_bytes()

    monkeypatch.setattr(trained_model, "local_model", lambda name: tmp_path / "run")
    tuned = {"finetune": "wandb:ann/seq2seq/default-fr-en:v0", "trainer.max_steps": 1, "data.test": []}
    train_with(tiny_config(corpus, tmp_path / "tuned", WANDB | tuned))
    (tuned_id,) = set(server.runs) - {run_id}
    assert server.artifact("default-fr-en:v0").used_by == [tuned_id]


@pytest.mark.parametrize("status", [0, 401])
def test_a_server_that_fails_from_the_start_means_offline(
    status: int, server: WandbServer, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    import wandb

    settings = trackers.wandb_settings

    def impatient(offline: bool) -> "wandb.Settings":
        found = settings(offline)
        found.init_timeout = 120 if offline else 0.2
        return found

    monkeypatch.setattr(trackers, "wandb_settings", impatient)
    let_fail(server, status)
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    with (
        caplog.at_level(logging.INFO, "seq2seq"),
        open_loggers(tiny_config(corpus, run.path, WANDB), run, None) as (_, tracker),
    ):
        tracker.log_metrics({"train/loss": 2.5}, 0)
    let_fail(server, 200)
    wandb.teardown()  # `finish` returns before the last rows are on disk
    assert "trying it offline instead" in caplog.text and "W&B is offline; upload offline-run-" in caplog.text
    assert [row["train/loss"] for row in read_run(run.path)["history"]] == [2.5]


def test_a_server_that_fails_in_the_middle_costs_its_own_run(
    server: WandbServer, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """First it answers with errors, then not at all."""
    import wandb

    teardown = wandb.teardown

    def teardown_later() -> None:
        """W&B would wait 4 seconds more."""
        let_fail(server, 200)
        teardown()

    monkeypatch.setattr(wandb, "teardown", teardown_later)
    monkeypatch.setattr(trackers, "FINISH_TIMEOUT_S", 0.2)
    monkeypatch.setattr(wandb_end, "GRACE_S", 0.2)
    config = tiny_config(corpus, tmp_path / "run", WANDB | {"logger.upload_model": True})
    train_with(config, BreakAt(server, 2, 500), BreakAt(server, 4, 0))
    assert is_whole(tmp_path / "run")
    assert caplog.text.count("W&B failed (TimeoutError: ") == 1
