"""A run that is told to stop, in each of its phases and once more a little later, ends soon and can go on."""

import itertools
import json
import random
import signal
import time
from pathlib import Path

import pytest

from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from tests.faults.runs import CHANGES, FAULTY_TRAIN, assert_same
from tests.nightly import IS_NIGHTLY
from tests.training.tiny_runs import arguments, checkpoint, command

pytestmark = pytest.mark.slow

SAVED, AT_ONCE = "stopped and saved; continue with: ", "stopped at once; continue with: "
NOTHING = "stopped at once; nothing was saved yet"
# Phase or file, which time, steps that are saved then, what is told. Each goes on where the one before was stopped.
PHASES = [
    ("composition", 1, 0, ""),
    ("preparation", 1, 0, NOTHING),
    ("first step", 1, 1, SAVED),
    ("validation", 1, 5, SAVED),
    ("decoding", 1, 5, SAVED),  # the same validation, which is made up for
    ("best-", 2, 10, SAVED),
    ("last.ckpt", 1, 15, SAVED),
    ("validation", 1, 20, SAVED),  # the last one
    ("selection", 1, 20, AT_ONCE),
    ("model.ckpt", 1, 20, AT_ONCE),
    ("test", 1, 20, AT_ONCE),
    ("test.en", 1, 20, AT_ONCE),
    ("test.json", 1, 20, AT_ONCE),  # the analysis
    ("report.html", 1, 20, AT_ONCE),
]


@pytest.mark.parametrize("name", ["SIGTERM", *(["SIGUSR1", "SIGHUP"] if IS_NIGHTLY else [])])
def test_a_run_that_is_stopped_in_each_phase_ends_as_one_that_never_was(
    tiny_corpus: Path, whole_run: Path, tmp_path: Path, name: str
) -> None:
    run = RunDirectory(tmp_path / "run")
    words = [*arguments(tiny_corpus, run.path, CHANGES), "resume=auto"]
    for where, number, n_steps, told in PHASES:
        began = time.monotonic()
        done = command(*words, script=FAULTY_TRAIN, env={"FAULT": json.dumps([name, where, number])})
        assert done.returncode == 128 + getattr(signal, name), (where, done.stderr)
        assert time.monotonic() - began < 45, where  # a phase that is not cut short lasts a minute
        assert told in done.stderr and "Traceback" not in done.stderr, (where, done.stderr)
        assert not list(tmp_path.rglob("*.tmp")), where
        assert (checkpoint(run.path)["global_step"] if run.last.is_file() else 0) == n_steps, where
        for file in run.checkpoints.glob("*.ckpt"):
            read_checkpoint(file)
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert_same(run.path, whole_run)


@pytest.mark.nightly
def test_a_run_that_is_stopped_at_random_moments_ends_as_one_that_never_was(
    tiny_corpus: Path, whole_run: Path, tmp_path: Path
) -> None:
    draw, n_stops = random.Random(1), 0
    for number in itertools.count():
        words = [*arguments(tiny_corpus, tmp_path / f"run-{number}", CHANGES), "resume=auto"]
        status = 143
        while status:
            fault = ["SIGTERM", "milliseconds", draw.randint(50, 3000)]  # too early on one machine, in time on another
            done = command(*words, script=FAULTY_TRAIN, env={"FAULT": json.dumps(fault)})
            status = done.returncode
            # When all is done and told, nobody handles signals any more.
            is_over = status == -signal.SIGTERM and "translate with:" in done.stderr
            assert status in (0, 143) or is_over, done.stderr
            assert "Traceback" not in done.stderr, done.stderr
            assert not list(tmp_path.rglob("*.tmp"))
            n_stops += bool(status)
        assert_same(tmp_path / f"run-{number}", whole_run)
        if n_stops >= 40:
            break
