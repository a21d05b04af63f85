"""Runs that are online, at a server on this machine: one that works, and one that hangs or answers with errors."""

import json
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytorch_lightning as pl

from seq2seq.artifacts import wandb_access
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training import sync
from seq2seq.training.guarded import Guarded
from seq2seq.training.loggers import open_loggers
from tests.training.launching import others, started, wait_for
from tests.training.tiny_runs import checkpoint, tiny_config, train_with
from tests.training.wandb_file import read_run
from tests.training.wandb_server import KEY, WandbServer, answered_here, wandb_server

N_STEPS = 6
WANDB = {
    "logger.wandb": True,
    "logger.wandb_project": "reversing",
    "logger.n_samples": 2,
    "trainer.max_steps": N_STEPS,
    "trainer.val_every_n_steps": 3,
    "decoding.beam_size": 1,
}


ASK = wandb_access._ask


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WandbServer]:
    """A server, and credentials for it."""
    import wandb

    wandb.teardown()  # of an earlier test: W&B reads the environment once
    answered_here(monkeypatch)
    with wandb_server() as server:
        for name in ("WANDB_MODE", "NETRC"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        yield server
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
    server: WandbServer, corpus: Path, tmp_path: Path, caplog: Any
) -> None:
    asked = {"logger.upload_model": True, "logger.text": True, "trainer.max_steps": 3}
    config = tiny_config(corpus, tmp_path / "run", WANDB | asked)
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
    assert run.config["starts"][0]["command"] and len(run.config["starts"]) == 2
    tables = [name for name in server.files if name.startswith(f"{run_id}/media/table/valid/samples")]
    assert len(tables) >= 2
    assert f"{run_id}/wandb-metadata.json" in server.files
    assert any(is_told_text(content, corpus) for content in server.received)  # as it was asked to
    model = server.artifact("default-fr-en:latest")
    assert model.made_by == run_id
    tokenizer = server.files[f"{model.id}/tokenizer.model"]
    assert tokenizer == (tmp_path / "run/export/safetensors/tokenizer.model").read_bytes()


def is_told_text(content: bytes, corpus: Path) -> bool:
    """Whether a line of the corpus is in it."""
    files = [file for file in corpus.iterdir() if file.suffix in (".fr", ".en")]
    return any(line in content for file in files for line in file.read_bytes().splitlines())


@pytest.mark.parametrize("mode", ["", "online", "offline", "disabled"])
@pytest.mark.parametrize("state", ["works", "refuses connections", "hangs", "fails"])
@pytest.mark.parametrize("key", ["", "b" * 40, KEY], ids=["no key", "wrong key", "right key"])
def test_each_run_is_tracked_online_or_else_offline(
    key: str,
    state: str,
    mode: str,
    server: WandbServer,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Two starts of a run: the first one is offline, so the second one has more to upload than its own rows."""
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    run_id = track(run, corpus, [0], monkeypatch, {"WANDB_MODE": "offline"})
    monkeypatch.setattr(wandb_access, "ANSWER_TIMEOUT_S", 0.3)
    if state == "refuses connections":
        server.server_close()
    let_fail(server, {"hangs": 0, "fails": 500}.get(state, 200))
    if state in ("hangs", "fails", "refuses connections"):
        monkeypatch.setattr(wandb_access, "_ask", ASK)
    with caplog.at_level(logging.INFO, "seq2seq"):
        track(run, corpus, [1, 2], monkeypatch, {"WANDB_MODE": mode, "WANDB_API_KEY": key}, run_id)
    is_online = key == KEY and state == "works" and mode in ("", "online")
    if mode == "disabled":
        assert "W&B" not in caplog.text.replace("W&B has not got all of this run", "")
    else:
        wait_for(lambda: [row["loss"] for row in read_run(run.path)["history"]] == [0, 1, 2])
        assert set(read_run(run.path)["ids"]) == {run_id}
    assert ("W&B has not got all of this run; upload offline-run-" in caplog.text) == (not is_online)
    if mode == "online" or (key and not mode):
        reason = "going online needs credentials" if not key else "going online: http://"
        assert ("it uploads the configuration" in caplog.text) == is_online == (reason not in caplog.text)
    else:
        assert not server.n_requests
    assert [row["loss"] for uploaded in server.runs.values() for row in uploaded.history] == [0, 1, 2] * is_online


def track(
    run: RunDirectory,
    corpus: Path,
    losses: list[int],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    run_id: str = "",
) -> str:
    """Log some values, as a run does. Returns its id in W&B."""
    resumed: Any = SimpleNamespace(step=0, wandb_id=run_id) if run_id else None
    with monkeypatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        with open_loggers(tiny_config(corpus, run.path, WANDB), run, resumed) as loggers:
            for logger in loggers[1:]:
                assert isinstance(logger, Guarded)
                for loss in losses:
                    logger.log_metrics({"loss": loss}, loss)
                run_id = logger.run_id
    return run_id


def test_a_server_that_fails_in_the_middle_costs_nothing(
    server: WandbServer, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """First it answers with errors, then not at all; what it lacks is synced later."""
    import wandb

    monkeypatch.setattr(sync, "PART_TIMEOUT_S", 1)
    config = tiny_config(corpus, tmp_path / "run", WANDB | {"logger.upload_model": True})
    with caplog.at_level(logging.INFO, "seq2seq"):
        train_with(config, BreakAt(server, 2, 500), BreakAt(server, 4, 0))
    assert is_whole(tmp_path / "run")
    assert "the upload to W&B failed: it took longer than 1 seconds" in caplog.text
    assert "W&B has not got all of this run; upload offline-run-" in caplog.text
    let_fail(server, 200)
    wandb.teardown()  # `finish` returns before the last rows are on disk
    monkeypatch.setattr(sync, "PART_TIMEOUT_S", 600)
    sync.sync([tmp_path / "run"])
    ((_, run),) = server.runs.items()
    assert [row["trainer/global_step"] for row in run.history if "train/loss" in row] == list(range(N_STEPS))
    assert server.artifact("default-fr-en:latest").made_by
    assert not any(is_told_text(content, corpus) for content in server.received)  # nobody asked for that


def test_an_upload_ends_with_a_run_that_is_killed(server: WandbServer, tmp_path: Path) -> None:
    script, run = tmp_path / "killed.py", tmp_path / "run"
    script.write_text(KILLED)
    with started(script, run, cwd=tmp_path, WANDB_BASE_URL=server.url, WANDB_API_KEY=KEY, is_fresh=True) as process:
        wait_for((run / "pid").exists, process)
        upload: Any = SimpleNamespace(pid=int((run / "pid").read_text()))
        wait_for(lambda: others(upload), process)  # the command of W&B
        os.kill(process.pid, signal.SIGKILL)
        wait_for(lambda: not others(upload))


KILLED = """
import os, sys, time
from pathlib import Path
import wandb
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training.sync import start_upload

run = Path(sys.argv[1])
run.mkdir()
wandb.init(project="p", dir=run, id="abc", mode="offline").log({"loss": 1})
(run / "new").write_text(str(start_upload(RunDirectory(run)).pid))
(run / "new").rename(run / "pid")
time.sleep(240)
"""
