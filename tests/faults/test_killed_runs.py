"""Training runs that are killed again and again end as one that never was: with data workers, and on two processes.

`make nightly` kills them 60 times and 30 times, in place of 4 times and once.
"""

import itertools
import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.nightly import IS_NIGHTLY
from tests.training.launching import TRAIN, Process, others, started, wait_for
from tests.training.tiny_runs import TIMINGS, arguments, checkpoint, command, write_corpus

pytestmark = pytest.mark.slow

CHANGES: dict[str, Any] = {
    "trainer.max_epochs": 4,
    "trainer.val_every_n_steps": 3,
    "trainer.ema_decay": 0.9,
    "trainer.keep_best": 3,
    "trainer.keep_every_n_steps": 4,
    "batch.accumulate": 2,
    "tokenizer.subword_regularization": 0.1,
}
# Times are those of the processor: a clock would count other processes, too. A run that ends says how long it took.
KILLED = """
import atexit, os, signal, sys, threading, time

def kill():
    while time.process_time() < float(os.environ["KILL_AFTER_S"]):
        time.sleep(0.002)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
atexit.register(lambda: print(time.process_time(), file=sys.stderr))
from seq2seq.cli import front_door
front_door("train")
"""

Start = Callable[[Path], bool]  # starts or continues the run in a directory, and says whether it came to its end


def test_runs_that_are_killed_end_as_one_that_never_was(tmp_path: Path) -> None:
    """The one that never was has no data workers. The system closes what the killed one had open; its workers end."""
    corpus, script, draw = write_corpus(tmp_path / "corpus"), tmp_path / "train.py", random.Random(1)
    script.write_text(KILLED)
    whole_s = cpu_s_of_a_whole_run(script, arguments(corpus, tmp_path / "whole", CHANGES))

    def start(run_dir: Path) -> bool:
        moment = {"KILL_AFTER_S": str(draw.uniform(0.02, whole_s))}
        words = [*arguments(corpus, run_dir, CHANGES | {"batch.n_workers": 2}), "resume=auto"]
        done = command(*words, script=script, env=moment)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode == 0

    kill_again_and_again(start, tmp_path, n_kills=60 if IS_NIGHTLY else 4)


def test_runs_on_two_processes_that_are_killed_end_as_one_that_never_was(tmp_path: Path) -> None:
    """The first process is killed, or the other one, or both and their data workers."""
    corpus, script, draw = write_corpus(tmp_path / "corpus"), tmp_path / "train.py", random.Random(2)
    script.write_text(KILLED)
    changes = CHANGES | {"trainer.devices": 2}
    whole_s = cpu_s_of_a_whole_run(script, arguments(corpus, tmp_path / "whole", changes))

    def start(run_dir: Path) -> bool:
        words = [*arguments(corpus, run_dir, changes | {"batch.n_workers": 1}), "resume=auto"]
        with started(TRAIN, *words, cwd=tmp_path) as first:
            has_ended = not is_killed(first, run_dir, whole_s, draw)
            _, err = first.communicate(timeout=240)
        assert "Traceback" not in err, err
        assert not has_ended or first.returncode == 0, err
        return has_ended

    kill_again_and_again(start, tmp_path, n_kills=30 if IS_NIGHTLY else 1)


def test_a_data_worker_that_is_killed_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    corpus, run_dir = write_corpus(tmp_path / "corpus"), tmp_path / "run"
    endless = {"trainer.max_epochs": 10**6, "trainer.val_every_n_steps": 5, "batch.n_workers": 1}
    with started(TRAIN, *arguments(corpus, run_dir, endless), cwd=tmp_path) as first:
        wait_for((run_dir / "checkpoints/last.ckpt").exists, first)
        wait_for(lambda: others(first), first)  # there is one in each epoch
        os.kill(others(first)[0], signal.SIGKILL)
        _, err = first.communicate(timeout=240)
    assert "Traceback" not in err, err
    assert (first.returncode, err.splitlines()[-1]) == (
        2,
        "error: a process that makes batches was killed, most likely because memory ran out; batch.n_workers=0 needs "
        f"none; continue with: python train.py resume={run_dir}",
    )


def cpu_s_of_a_whole_run(script: Path, words: list[str]) -> float:
    """Seconds of the processor from start to end: on one machine three times as many as on another."""
    done = command(*words, script=script, env={"KILL_AFTER_S": "inf"})
    assert done.returncode == 0, done.stderr
    return float(done.stderr.splitlines()[-1])


def is_killed(first: Process, run_dir: Path, whole_s: float, draw: random.Random) -> bool:
    """Kill a process of a run, or all, at a moment after its training has begun; False: it ended before."""
    config = run_dir / "config.yaml"  # written anew whenever a training begins
    before = version_of(config)
    wait_for(lambda: version_of(config) != before or first.poll() is not None)
    moment_s = cpu_s(first.pid) + draw.uniform(0, whole_s)
    wait_for(lambda: cpu_s(first.pid) > moment_s or first.poll() is not None)
    if first.poll() is not None:
        return False
    children = sorted(others(first))
    # The oldest child is the other process; its data workers, and those of the first one, come later.
    for pid in draw.choice([[first.pid], children[:1], [first.pid, *children]]):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return True


def version_of(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0


def cpu_s(process: int) -> float:
    """Seconds of the processor that it has used; none if it is gone."""
    try:
        user, system = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[11:13]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def kill_again_and_again(start: Start, folder: Path, n_kills: int) -> None:
    """Start runs, each of them again after each kill, until there were so many kills and the last run has ended."""
    killed_at: list[int] = []
    for number in itertools.count():
        run_dir, steps = folder / f"killed-{number}", [0]
        while not start(run_dir):
            saved = run_dir / "checkpoints" / "last.ckpt"
            steps.append(checkpoint(run_dir)["global_step"] if saved.is_file() else 0)
            assert steps[-1] >= steps[-2]  # nothing that was saved is lost
            assert len(steps) < 200  # otherwise it gets nowhere
        assert_is_as(folder / "whole", run_dir)
        killed_at += steps[1:]
        if len(killed_at) >= n_kills:
            print(f"{len(killed_at)} kills in {number + 1} runs, which had saved these steps: {killed_at}")
            return


def assert_is_as(whole: Path, run_dir: Path) -> None:
    assert what_it_left(run_dir) == what_it_left(whole)
    # Which state is on trial, as good-STEP.ckpt, depends on when it was saved.
    names = {file.name for file in (whole / "checkpoints").iterdir() if not file.match("good-*")}
    assert names == {file.name for file in (run_dir / "checkpoints").iterdir() if not file.match("good-*")}
    for name in names - {"previous.ckpt"}:
        ours, theirs = checkpoint(run_dir, name), checkpoint(whole, name)
        assert ours["global_step"] == theirs["global_step"]
        assert all(torch.equal(ours["state_dict"][key], weight) for key, weight in theirs["state_dict"].items())
    assert not list(run_dir.rglob("*.tmp"))


def what_it_left(run_dir: Path) -> dict[str, Any]:
    rows = [each for each in RunDirectory(run_dir).metrics() if each.name not in TIMINGS]
    files = ("selection.json", "scores.json", "hypotheses/test.en", "summary.txt")
    texts = {name: (run_dir / name).read_text().replace(str(run_dir), "RUN") for name in files}
    return texts | {"metrics": sorted((each.step, each.name, each.value) for each in rows)}
