"""A sweep by Hydra's multirun: which jobs it has, which are done, and what is told. Stand-ins do the trainings.

tests/faults/test_stopped_sweeps.py has real ones.
"""

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from seq2seq import cli
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.config.compose import composed
from seq2seq.errors import ConfigError
from seq2seq.exit_status import exit_status
from seq2seq.sweeps import multirun
from seq2seq.sweeps.job_process import JobProcess, why_it_failed
from seq2seq.sweeps.multirun import do_sweep, words_to_resume
from seq2seq.training.composed import checked

NAMES = ["000_seed=1", "001_seed=2", "002_seed=3"]
Done = list[list[str]]


class Job:
    """Stands in for a training, which takes seconds: notes its words, and leaves what a finished run leaves."""

    done: Done
    ends: dict[str, int | BaseException]

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)

    def wait(self) -> int:
        self.done.append(self.words)
        (run_dir,) = (Path(word.removeprefix("run_dir=").strip("'")) for word in self.words if "run_dir=" in word)
        end = self.ends.get(run_dir.name, 0)
        if isinstance(end, BaseException):
            raise end
        if not end:
            with composed(self.words) as job:
                RunDirectory(run_dir).write_config(checked(job))
            for name in ("selection.json", "scores.json"):
                (run_dir / name).write_text(json.dumps({}))
        return end


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Done:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    monkeypatch.setattr(multirun, "JobProcess", Job)
    monkeypatch.setattr(Job, "done", [], raising=False)
    monkeypatch.setattr(Job, "ends", {}, raising=False)
    return Job.done


def seeds(done: Done) -> list[str]:
    return [next(word for word in words if word.startswith("seed=")) for words in done]


def test_the_same_command_goes_on_and_a_job_that_fails_stops_no_other(
    done: Done, capsys: pytest.CaptureFixture[str]
) -> None:
    Job.ends = {NAMES[0]: -9, NAMES[1]: 2}
    words = ["-m", "experiment=demo", "seed=1,2,3", "run_dir=SWEEP"]
    assert do_sweep(words) == 2
    assert seeds(done) == ["seed=1", "seed=2", "seed=3"]
    assert [word for word in done[0] if not word.startswith("seed=")] == [
        "experiment=demo",
        f"run_dir='SWEEP/{NAMES[0]}'",
        "resume=auto",
    ]
    assert capsys.readouterr().err.splitlines()[-4:] == [
        "1 of 3 jobs are finished; not finished:",
        f"  {NAMES[0]}: was killed by signal 9, most likely because memory ran out",
        f"  {NAMES[1]}: ended with status 2; what it printed says more",
        "try again what is missing with: python -m seq2seq train resume=SWEEP",
    ]
    Job.ends = {}
    assert do_sweep(words_to_resume(["resume=SWEEP", "trainer.progress=false"])) == 0
    assert seeds(done)[3:] == ["seed=1", "seed=2"] and "trainer.progress=False" in done[3]
    told = capsys.readouterr().err
    assert f"SWEEP/{NAMES[2]} is finished already\n" in told
    assert told.endswith("3 of 3 jobs are finished; their scores: python -m seq2seq compare SWEEP\n")
    assert do_sweep(words) == 0 and len(done) == 5


def test_a_sweep_can_grow(done: Done) -> None:
    assert do_sweep(["-m", "seed=1", "optim.lr=1e-3,2e-3", "run_dir=SWEEP"]) == 0
    assert do_sweep(["-m", "seed=1", "optim.lr=1e-3,2e-3,3e-3", "run_dir=SWEEP"]) == 0
    assert SweepDirectory(Path("SWEEP")).jobs() == [f"00{i}_optim.lr=0.00{i + 1}" for i in range(3)]
    assert len(done) == 3


def test_a_finished_job_is_not_taken_for_one_with_other_settings(
    done: Done, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-m", "experiment=demo", "seed=1,2", "run_dir=SWEEP"]
    assert do_sweep(words) == 0
    for word, problem in (
        ("model.dropout=0.3", "model.dropout=0.1, not 0.3"),
        ("data.test=valid", "data.test=test, not valid"),
    ):
        assert do_sweep([*words, word]) == 2
        told = capsys.readouterr().err
        assert (
            f"0 of 2 jobs are finished; not finished:\n  {NAMES[0]}: holds a finished run with {problem}; name" in told
        )
    assert do_sweep([*words, "trainer.max_epochs=60", "logger=csv"]) == 0  # as `resume=` takes them
    assert len(done) == 2


def test_what_a_job_looks_up_is_not_looked_up_for_it(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMED", "S3cret")
    assert do_sweep(["-m", "seed=1,2", "logger.wandb_notes='${oc.env:NAMED}'", "run_dir=SWEEP"]) == 0
    assert all("logger.wandb_notes='${oc.env:NAMED}'" in words for words in done)


def test_sweeps_without_a_name_have_directories_of_their_own(done: Done) -> None:
    for _ in range(2):
        assert do_sweep(["-m", "seed=1,2", "name=fixed"]) == 0
    assert len(done) == 4
    first, second = sorted(Path("runs/fixed").absolute().iterdir())
    assert SweepDirectory(first).jobs() == SweepDirectory(second).jobs() == NAMES[:2]
    assert SweepDirectory.of_run(first / NAMES[1]) == SweepDirectory(first)


def test_what_a_command_says_twice_counts_once(done: Done) -> None:
    assert do_sweep(["-m", "optim.lr=1", "optim.lr=1e-3,2e-3", "data.dir=/a/b", "run_dir=SWEEP"]) == 0
    assert SweepDirectory(Path("SWEEP")).jobs() == ["000_optim.lr=0.001", "001_optim.lr=0.002"]


def test_the_reason_that_a_job_left_itself_is_kept(
    done: Done, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wait(job: Job) -> int:
        SweepDirectory(Path("SWEEP")).write_error(NAMES[0], "the disk is full")
        return 2

    monkeypatch.setattr(Job, "wait", wait)
    assert do_sweep(["-m", "seed=1,2", "run_dir=SWEEP"]) == 2
    told = f"  {NAMES[0]}: the disk is full\n  {NAMES[1]}: ended with status 2; what it printed says more\n"
    assert told in capsys.readouterr().err


def test_a_stop_ends_the_whole_sweep_and_says_how_to_go_on(done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    Job.ends = {NAMES[1]: KeyboardInterrupt()}
    assert exit_status(lambda: do_sweep(["-m", "seed=1,2,3", "run_dir=a sweep"])) == 130
    told = "the sweep is stopped; go on with: python -m seq2seq train 'resume=a sweep'\ninterrupted\n"
    assert told in capsys.readouterr().err
    assert seeds(done) == ["seed=1", "seed=2"] and not SweepDirectory(Path("a sweep")).error(NAMES[1])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["-m", "seed=1", "resume=elsewhere"], "resume= goes on with one run, or with one sweep as it is; leave -m"),
        (["-m", "run_dir=a,b"], "run_dir is the directory of the whole sweep, which names those of its jobs"),
        (["-m", "seed=1", "resume=auto"], "resume=auto needs a directory that is the same at each start"),
        (["-m", "optim.lr=-1"], "optim.lr=-1.0 must be a finite number above 0"),
        (["-m", "data.test=null", "data.test={own: x}"], "data.test=null would be lost, since a sweep takes the last"),
        (["-m", "seed=1", "+optim.ler=1"], "there is no configuration key 'optim.ler'; did you mean optim.lr"),
        (["-m", "optim.ler=1,2"], "there is no configuration key 'optim.ler'; did you mean optim.lr"),
        (["-m", "seed=1", "run_dir=SEARCH"], "run_dir=SEARCH holds something else than a sweep; name another run_dir"),
        (["resume=SEARCH"], "resume=SEARCH is a search; go on with: python -m seq2seq search SEARCH"),
        (["-m", "--estimate", "seed=1,2"], "--estimate is for one run; leave -m out, and give each key one value"),
        (["-m", "seed=1,2", "data.train=http://ann:S3cret@host/a"], "data.train=http://***@host/a would be written"),
        (["-m", "seed=1,2", "hydra/launcher=slrm"], "hydra/launcher=slrm is not a preset; choose one of: "),
    ],
)  # fmt: skip
def test_what_no_sweep_can_do_is_told_before_it_does_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    SweepDirectory(Path("SEARCH")).write_search({})
    with pytest.raises(SystemExit, match="2"):
        cli.front_door("train", asked)
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"error: {told}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SEARCH"]


def test_a_sweep_is_found_in_the_home_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    SweepDirectory(tmp_path / "SEARCH").write_search({})
    with pytest.raises(ConfigError, match=f"^resume={tmp_path}/SEARCH is a search"):
        words_to_resume(["resume=~/SEARCH"])


def test_under_a_launcher_there_is_one_run() -> None:
    from seq2seq.commands.train import _run
    from seq2seq.training.ranks import Ranks

    for words in (["-m", "seed=1,2"], ["--estimate"]):
        with pytest.raises(ConfigError, match="-m and --estimate are for one process; give the command without torch"):
            _run(words, Ranks())


def test_a_path_with_an_equals_sign_needs_no_quotes(tmp_path: Path, monkeypatch, capsys) -> None:
    """As in the name of each job; Hydra alone would refuse it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        cli.front_door("train", ["resume=runs/000_seed=1"])
    assert capsys.readouterr().err.startswith("error: runs/000_seed=1: nothing to resume")


def test_a_job_that_a_signal_stopped_is_told_so() -> None:
    assert why_it_failed(143) == "was stopped by SIGTERM"
    assert why_it_failed(-15) == "was killed by signal 15"


def test_how_a_job_ends_is_known_where_nobody_asks_for_the_ends_of_processes() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as some programs leave it to what they start
    try:
        assert JobProcess(["-c", "raise SystemExit(3)"], [sys.executable]).wait() == 3
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_what_a_job_prints_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "logs/job.log"
    job = JobProcess(["-c", "import os; print(os.getsid(0) == os.getpid())"], [sys.executable], log)
    assert job.wait() == 0 and log.read_text() == "True\n"
