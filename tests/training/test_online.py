"""Runs that are online, at a server on this machine: one that works, and one that hangs or answers with errors."""

import itertools
import json
import logging
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytorch_lightning as pl

from seq2seq.artifacts import wandb_access
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training.loggers import open_loggers
from seq2seq.training.trackers import Guarded
from tests.training.launching import end_of, started, wait_for
from tests.training.tiny_runs import checkpoint, tiny_config, train_with
from tests.training.wandb_file import read_run
from tests.training.wandb_server import KEY, WandbServer, wandb_server

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
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setattr(wandb_access, "ANSWER_TIMEOUT_S", 120)
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


def test_an_online_run_arrives_and_goes_on_under_its_id(
    server: WandbServer, corpus: Path, tmp_path: Path, caplog: Any
) -> None:
    asked = {"logger.upload_model": True, "logger.text": True, "trainer.max_steps": 3}
    config = tiny_config(corpus, tmp_path / "run", WANDB | asked)
    with caplog.at_level(logging.INFO, "seq2seq"):
        train_with(config)
        config.trainer.max_steps = N_STEPS
        train_with(config, resume=True)
    assert caplog.text.count("W&B is online: it uploads") == 2 and "wandb sync" not in caplog.text
    ((run_id, run),) = server.runs.items()
    assert checkpoint(tmp_path / "run")["wandb_id"] == run_id
    steps = [(row["trainer/global_step"], row["train/loss"]) for row in run.history if "train/loss" in row]
    assert [step for step, _ in steps] == list(range(1, N_STEPS + 1))
    in_csv = [each.value for each in RunDirectory(tmp_path / "run").metrics() if each.name == "train/loss"]
    assert [loss for _, loss in steps] == pytest.approx(in_csv, rel=1e-5)
    scores = json.loads((tmp_path / "run/scores.json").read_text())["test"]
    assert run.summary["test/test/chrf"] == pytest.approx(scores["chrf"]["score"], abs=1e-4)
    assert run.summary["ended"] == f"after step {N_STEPS}: trainer.max_steps={N_STEPS} was reached"
    assert run.exit_code == 0
    assert run.config["starts"][0]["command"] and len(run.config["starts"]) == 2
    pages = [name for name in server.files if name.startswith(f"{run_id}/media/html/valid/samples")]
    assert len(pages) >= 2
    assert server.operations.count("ArtifactType") == 2  # for the answer a run waits: once, at its end, for its model
    assert f"{run_id}/wandb-metadata.json" in server.files
    assert any(is_told_text(content, corpus) for content in server.received)  # as it was asked to
    model = server.artifact("default-fr-en:latest")
    assert model.made_by == run_id
    tokenizer = server.files[f"{model.id}/tokenizer.model"]
    assert tokenizer == (tmp_path / "run/export/safetensors/tokenizer.model").read_bytes()


def is_told_text(content: bytes, corpus: Path) -> bool:
    """Whether a line of the corpus is in it. Other tests may put files beside it, with empty lines."""
    files = [corpus / f"{split}.{language}" for split in ("train", "valid", "test") for language in ("fr", "en")]
    return any(line in content for file in files for line in file.read_bytes().splitlines())


KEYS = {"no key": "", "wrong key": "b" * 40, "right key": KEY}
STATES, MODES = ("works", "refuses connections", "hangs", "fails"), ("", "online", "offline", "disabled")


def combinations() -> Iterator[Any]:
    """By day, one thing is unusual at a time, or the key where somebody insists on being online; at night, all are."""
    for key, state, mode in itertools.product(KEYS, STATES, MODES):
        n_unusual = (key != "right key") + (state != "works") + (mode != "")
        is_for_the_day = n_unusual < 2 or (state, mode) == ("works", "online")
        name = f"{key}-{state}-{mode}"
        yield pytest.param(KEYS[key], state, mode, id=name, marks=() if is_for_the_day else pytest.mark.nightly)


@pytest.mark.parametrize(("key", "state", "mode"), list(combinations()))
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
    """Two starts of a run, the first of which is offline."""
    import wandb

    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    run_id = track(run, corpus, [0], monkeypatch, {"WANDB_MODE": "offline"})
    if state == "refuses connections":
        server.server_close()
    let_fail(server, {"hangs": 0, "fails": 500}.get(state, 200))
    settings = wandb_access.wandb_settings

    def impatient(is_online: bool) -> "wandb.Settings":
        found = settings(is_online)
        if is_online and state in ("hangs", "fails", "refuses connections"):
            found.init_timeout = 0.2
        return found

    monkeypatch.setattr("seq2seq.training.trackers.wandb_settings", impatient)
    with caplog.at_level(logging.INFO, "seq2seq"):
        track(run, corpus, [1, 2], monkeypatch, {"WANDB_MODE": mode, "WANDB_API_KEY": key}, run_id)
    let_fail(server, 200)
    wandb.teardown()  # `finish` returns before the last rows are on disk
    is_online = key == KEY and state == "works" and mode in ("", "online")
    recorded = [0] if is_online or mode == "disabled" else [0, 1, 2]
    assert [row["loss"] for row in read_run(run.path)["history"]] == recorded
    assert set(read_run(run.path)["ids"]) == {run_id}
    assert [row["loss"] for each in server.runs.values() for row in each.history] == ([1, 2] if is_online else [])
    assert ("it uploads the configuration" in caplog.text) == is_online
    assert ("W&B was offline before; upload it after the run" in caplog.text) == is_online
    assert ("W&B did not start online" in caplog.text) == (mode in ("", "online") and key != "" and not is_online)
    assert ("W&B is offline, without credentials; upload" in caplog.text) == (mode != "disabled" and not key)
    assert "W&B has not got all of this run; upload it after the run" in caplog.text
    if mode in ("offline", "disabled") or not key:
        assert not server.n_requests


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
            if value:
                patch.setenv(name, value)
            else:
                patch.delenv(name, raising=False)
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
    """First it answers with errors, then not at all; what it lacks is uploaded later, by the command that is told."""
    import wandb

    monkeypatch.setattr(wandb_access, "FINISH_TIMEOUT_S", 0.2)
    teardown = wandb.teardown

    def teardown_later() -> None:
        """W&B would wait 4 seconds more."""
        let_fail(server, 200)
        teardown()

    monkeypatch.setattr(wandb, "teardown", teardown_later)
    train_with(tiny_config(corpus, tmp_path / "run", WANDB), BreakAt(server, 2, 500), BreakAt(server, 4, 0))
    local, steps = RunDirectory(tmp_path / "run"), list(range(1, N_STEPS + 1))
    assert local.is_scored and [each.step for each in local.metrics() if each.name == "train/loss"] == steps
    (told,) = re.findall(
        r"W&B failed \(TimeoutError: its server did not take all in time; .*: wandb (.*?)\);", caplog.text
    )
    uploading = [sys.executable, "-m", "wandb", *shlex.split(told)]
    subprocess.run(uploading, env=wandb_access._environment(), check=True, capture_output=True)
    ((_, run),) = server.runs.items()
    assert [row["trainer/global_step"] for row in run.history if "train/loss" in row] == steps
    assert run.summary["ended"] and run.exit_code == 0
    assert not any(is_told_text(content, corpus) for content in server.received)  # nobody asked for that


def test_a_server_that_hangs_lets_python_end(server: WandbServer, tmp_path: Path) -> None:
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    # Reports of W&B's own errors would take it 10 seconds more.
    variables: dict[str, Any] = {"WANDB_BASE_URL": server.url, "WANDB_API_KEY": KEY, "WANDB_ERROR_REPORTING": "false"}
    with started(script, tmp_path, cwd=tmp_path, **variables) as process:
        wait_for((tmp_path / "connected").exists, process)
        let_fail(server, 0)
        (tmp_path / "hangs").touch()
        status, err = end_of(process)
    assert status == 0 and "did not take all in time" in err and server.is_hanging


HANGS = """
import sys, time
from pathlib import Path
from seq2seq.artifacts import wandb_access
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training.trackers import Guarded
from seq2seq.training.trackers import WandbTracker
from tests.training.tiny_runs import tiny_config

folder = Path(sys.argv[1])
wandb_access.FINISH_TIMEOUT_S = 0.2
tracker = Guarded(WandbTracker(tiny_config(folder, folder), RunDirectory(folder), "", is_online=True))
(folder / "connected").touch()
while not (folder / "hangs").exists():
    time.sleep(0.01)
tracker.log_metrics({"loss": 1.0}, 0)
tracker.attempt(lambda each: each.close(has_failed=False))
"""
