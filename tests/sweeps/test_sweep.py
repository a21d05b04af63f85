"""The jobs of a sweep, one after another: which are done, in which order, and what is told."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.errors import ConfigError
from seq2seq.exit_status import exit_status
from seq2seq.sweeps.job_process import JobProcess, why_it_failed
from seq2seq.sweeps.sweep import begin, check_same, do_jobs
from tests.training.launching import started, wait_for

JOBS = [[f"seed={seed}"] for seed in (1, 2, 3)]
NAMES = ["000_seed=1", "001_seed=2", "002_seed=3"]

HOLDS_A_SWEEP = """
import sys, time
from pathlib import Path
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.sweeps.sweep import do_jobs

def do(words):
    Path("has_begun").touch()
    time.sleep(600)

do_jobs(SweepDirectory(Path(sys.argv[1])), do)
"""


@pytest.fixture
def sweep(tmp_path: Path) -> SweepDirectory:
    sweep = SweepDirectory(tmp_path / "sweep")
    begin(sweep, JOBS)
    return sweep


def finishing(sweep: SweepDirectory, done: list[str], statuses: dict[str, int]) -> Callable[[Sequence[str]], int]:
    """Stands in for a training, which takes seconds: notes the seed, and leaves what a finished run leaves."""

    def do(words: Sequence[str]) -> int:
        done.append(words[0])
        status = statuses.get(words[0], 0)
        if not status:
            run = sweep.run(NAMES[JOBS.index([words[0]])])
            run.path.mkdir()
            for name in ("selection.json", "scores.json"):
                (run.path / name).write_text(json.dumps({}))
        return status

    return do


def test_a_job_that_fails_does_not_stop_the_others_and_is_tried_again_last(
    sweep: SweepDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    assert do_jobs(sweep, finishing(sweep, done, {"seed=1": -9, "seed=2": 2})) == 2
    assert done == ["seed=1", "seed=2", "seed=3"]
    assert capsys.readouterr().err.splitlines()[-4:] == [
        "1 of 3 jobs are finished; not finished:",
        f"  {NAMES[0]}: was killed by signal 9, most likely because memory ran out",
        f"  {NAMES[1]}: ended with status 2; what it printed says more",
        f"try again what is missing with: python train.py resume={sweep.path}",
    ]
    sweep.forget_error(NAMES[1])  # as if it had not begun
    assert do_jobs(sweep, finishing(sweep, done, {})) == 0
    assert done[3:] == ["seed=2", "seed=1"]
    told = capsys.readouterr().err
    assert told.startswith("1 of 3 jobs are finished already\njob 2 of 3: ")
    assert told.endswith(f"3 of 3 jobs are finished; their scores: python -m seq2seq compare {sweep.path}\n")
    assert do_jobs(sweep, finishing(sweep, done, {})) == 0 and len(done) == 5


def test_the_reason_that_a_job_left_itself_is_kept(sweep: SweepDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    def do(words: Sequence[str]) -> int:
        sweep.write_error(NAMES[0], "the disk is full")
        return 2

    assert do_jobs(sweep, do, goes_on_after_failure=False) == 2
    told = capsys.readouterr().err
    assert f"  {NAMES[0]}: the disk is full\n  {NAMES[1]}: was not begun\n" in told


def test_more_words_reach_each_job(sweep: SweepDirectory) -> None:
    seen: list[Sequence[str]] = []
    do_jobs(sweep, lambda words: seen.append(words) or 2, ["data.dir=elsewhere"])  # type: ignore[func-returns-value]
    assert [words[0] for words in seen] == ["seed=1", "seed=2", "seed=3"]
    assert {words[-1] for words in seen} == {"data.dir=elsewhere"}


def test_a_stop_ends_the_whole_sweep_and_says_how_to_go_on(
    sweep: SweepDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    def do(words: Sequence[str]) -> int:
        if words[0] == "seed=2":
            raise KeyboardInterrupt
        return finishing(sweep, [], {})(words)

    assert exit_status(lambda: do_jobs(sweep, do)) == 130
    assert (
        "the sweep is stopped, with 1 of 3 jobs finished; go on with: "
        f"python train.py resume={sweep.path}\ninterrupted\n" in capsys.readouterr().err
    )
    assert not sweep.error(NAMES[1])


def test_a_directory_has_one_sweep(sweep: SweepDirectory, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds a sweep already; continue it with resume=\S+, or name"):
        begin(sweep, JOBS)
    check_same(sweep, JOBS)
    with pytest.raises(ConfigError, match="holds a sweep of other jobs; name another run_dir, or go on with it as it"):
        check_same(sweep, JOBS[:2])
    other = SweepDirectory(tmp_path / "search")
    other.write_search({})
    run = SweepDirectory(tmp_path / "run")
    (run.path / "checkpoints").mkdir(parents=True)
    (run.path / "checkpoints/last.ckpt").touch()
    for taken in (other, run):
        with pytest.raises(ConfigError, match="holds something else than a sweep; name another run_dir"):
            begin(taken, JOBS)


def test_a_sweep_is_done_by_one_process_at_a_time(sweep: SweepDirectory, tmp_path: Path) -> None:
    with started("-c", HOLDS_A_SWEEP, sweep.path, cwd=tmp_path) as other:
        wait_for((tmp_path / "has_begun").exists, other)
        with pytest.raises(ConfigError, match=rf"is at work, process {other.pid} on .*; wait for its end, or stop it"):
            do_jobs(sweep, lambda words: 0)


def test_a_job_that_a_signal_stopped_is_told_so() -> None:
    assert why_it_failed(143) == "was stopped by SIGTERM"
    assert why_it_failed(-15) == "was killed by signal 15"


def test_a_job_hears_by_sigterm_that_the_process_that_started_it_is_gone(tmp_path: Path) -> None:
    """Its stdin is closed then."""
    log = tmp_path / "logs/job.log"
    code = "import time; from seq2seq.training.launchers import end_with_sweep; end_with_sweep(); time.sleep(60)"
    job = JobProcess(["-c", code], [sys.executable], log)
    assert job.poll() is None
    assert job._process.stdin is not None
    job._process.stdin.close()
    assert job.wait() == -15 and log.read_text() == ""
