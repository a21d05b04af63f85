"""A tracker that fails costs itself, and not the run."""

import json
import logging
import re
from operator import methodcaller
from typing import Any, cast

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training import loggers
from seq2seq.training.trackers import Guarded
from tests.devices import device, needs_devices
from tests.training.launching import end_of, started
from tests.training.tiny_runs import tiny_config, train_with
from tests.training.wandb_file import read_run

# What a tracker is asked to do, in this order.
CALLS: dict[str, tuple[Any, ...]] = {
    "log_hyperparams": ({},),
    "log_metrics": ({"loss": 1.0}, 0),
    "log_sentences": ("valid", None, 0),
    "log_attention": ([], 0),
    "log_results": ({}, {}, 0),
    "log_model": ("name", None, {}),
    "finalize": ("success",),
    "close": (False,),
}


class FailingTracker:
    """Raises `error` in one of its methods, and notes which ones were called."""

    title = "The tracker"
    run_id = "a1"

    def __init__(self, fails_in: str, error: BaseException) -> None:
        self.fails_in, self.error = fails_in, error
        self.called: list[str] = []

    def __getattr__(self, name):
        def call(*args):
            self.called.append(name)
            if name == self.fails_in:
                raise self.error

        return call


@pytest.mark.parametrize("fails_in", CALLS)
def test_the_first_failure_costs_a_warning_and_all_that_would_have_come_later(fails_in, caplog):
    tracker = FailingTracker(fails_in, OSError(28, "No space left on device"))
    guarded = Guarded(cast(Any, tracker))
    for name, arguments in [*CALLS.items()] * 2:
        guarded.attempt(methodcaller(name, *arguments))
    names = list(CALLS)
    assert tracker.called == [*names[: names.index(fails_in) + 1], "abandon"]
    assert guarded.run_id == ""
    warning = "The tracker failed (OSError: [Errno 28] No space left on device); it records nothing more of this run"
    assert caplog.text.count(warning) == 1


def test_a_run_calls_all_methods_of_a_tracker(corpus, tmp_path, monkeypatch):
    tracker = FailingTracker("", OSError())
    monkeypatch.setattr(loggers, "TensorBoardTracker", lambda run: tracker)
    steps = {"trainer.max_steps": 2, "trainer.val_every_n_steps": 1}
    changes = {"logger.tensorboard": True, "logger.upload_model": True, "decoding.beam_size": 1, **steps}
    train_with(tiny_config(corpus, tmp_path / "run", changes))
    assert set(tracker.called) == set(CALLS)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_signal_within_a_tracker_is_not_a_failure_of_it(stop, caplog):
    tracker = FailingTracker("log_metrics", stop())
    guarded = Guarded(cast(Any, tracker))
    with pytest.raises(stop):
        guarded.log_metrics({"loss": 1.0}, 0)
    guarded.finalize("success")
    assert tracker.called == ["log_metrics", "finalize"] and not caplog.text


@needs_devices
def test_event_files_on_a_full_disk_cost_the_event_files(corpus, tmp_path, monkeypatch, caplog):
    full = device(tmp_path, "full")
    event_file_writer = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    monkeypatch.setattr(event_file_writer.tf.io.gfile, "GFile", lambda name, mode: full.open(mode, 0))
    monkeypatch.setattr("threading.excepthook", lambda failure: None)  # of the thread that writes
    with caplog.at_level(logging.WARNING):
        train_with(tiny_config(corpus, tmp_path / "run", {"logger.tensorboard": True, "trainer.max_steps": 3}))
    assert caplog.text.count("TensorBoard failed (OSError: [Errno 28]") == 1
    assert len(RunDirectory(tmp_path / "run").scores()) == 1


KILLS_THE_SERVICE = """
import os, signal, subprocess, sys, logging
from pathlib import Path
import pytorch_lightning as pl
from tests.training.tiny_runs import tiny_config, train_with

class KillService(pl.Callback):
    def on_train_batch_end(self, trainer, pl_module, *args):
        if pl_module.n_steps == 2:
            found = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True).stdout
            children = [line.split(None, 2) for line in found.splitlines()]
            (service,) = [int(pid) for pid, parent, args in children if int(parent) == os.getpid() and "wandb" in args]
            os.kill(service, signal.SIGKILL)

logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
corpus, out = Path(sys.argv[1]), Path(sys.argv[2])
changes = {"logger.wandb": True, "logger.wandb_mode": "offline", "trainer.max_steps": 4}
changes |= {"decoding.beam_size": 1}
train_with(tiny_config(corpus, out / "killed", changes), KillService())
train_with(tiny_config(corpus, out / "next", changes))
"""


@pytest.mark.nightly
def test_a_killed_service_of_wandb_costs_its_own_run_and_not_the_next(corpus, tmp_path):
    """In a process of its own, whose end shows what W&B still does then."""
    script = tmp_path / "kills_the_service.py"
    script.write_text(KILLS_THE_SERVICE)
    with started(script, corpus, tmp_path, cwd=tmp_path) as process:
        status, told = end_of(process)
    assert status == 0, told
    assert len(re.findall(r"^W&B failed \(\w+: .*\); it records nothing more", told, re.MULTILINE)) == 1
    assert "Traceback" not in told
    for name in ("killed", "next"):
        run = RunDirectory(tmp_path / name)
        assert [each.step for each in run.metrics() if each.name == "train/loss"] == [1, 2, 3, 4]
        assert run.is_scored
    logged = read_run(tmp_path / "next")
    assert [row["trainer/global_step"] for row in logged["history"] if "train/loss" in row] == [0, 1, 2, 3]
    scores = json.loads((tmp_path / "next/scores.json").read_text())["test"]
    assert logged["summary"]["test/test/chrf"] == pytest.approx(scores["chrf"]["score"], abs=1e-4)
