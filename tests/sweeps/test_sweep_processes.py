"""Sweeps as a user starts them: jobs that fail, Ctrl-C in the middle, and the way on."""

import os
import signal
import sys
from pathlib import Path

import pytest

from seq2seq import cli
from seq2seq.artifacts.identity import SweepPlace
from seq2seq.artifacts.run_directory import runs_in
from seq2seq.artifacts.sweep_directory import Job, SweepDirectory
from seq2seq.commands.train import composed
from seq2seq.errors import ConfigError
from tests.faults.runs import IS_LONG
from tests.training.launching import TORCHRUN, TRAIN, end_of, others, run, started, wait_for
from tests.training.tiny_runs import TINY, checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


def words(corpus: Path, sweep: Path, **changes: object) -> list[str]:
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "trainer.max_epochs": 0}
    keys |= {"trainer.max_steps": 90, "trainer.val_every_n_steps": 15, "trainer.patience": 0}
    keys |= {"run_dir": sweep} | {name.replace("__", "."): value for name, value in changes.items()}
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


@pytest.mark.parametrize("kill", ["Ctrl-C", *(["kill -9"] if IS_LONG else [])])
def test_a_sweep_that_is_interrupted_goes_on_where_it_stopped(corpus: Path, tmp_path: Path, kill: str) -> None:
    """The first job fails. The second one is interrupted, goes on from its state, and the first is tried once more."""
    sweep = SweepDirectory(tmp_path / "runs/a sweep")
    names = ["000_data.valid=missing", "001_data.valid=valid"]
    second = sweep.run(names[1])
    asked = words(corpus, sweep.path, data__valid="missing,valid")
    with started(TRAIN, "-m", *asked, cwd=tmp_path) as first:
        wait_for(second.last.exists, first)
        assert [job.name for job in sweep.jobs()] == names
        if kill == "Ctrl-C":
            os.killpg(first.pid, signal.SIGINT)  # reaches the sweep and its job, as in a terminal
            status, err = end_of(first)
            assert (status, "Traceback" in err) == (130, False), err
            assert err.endswith(
                "the sweep is stopped, with 0 of 2 jobs finished; go on with: "
                f"python train.py resume={sweep.path}\ninterrupted\n"
            )
        else:
            first.kill()
            wait_for(lambda: not others(first))  # the job has noticed, saved and ended
    assert not second.is_scored
    reached, identity = checkpoint(second.path)["global_step"], second.identity()
    assert 0 < reached < 90
    status, err = run(TRAIN, f"resume={sweep.path}", "trainer.progress=false", cwd=tmp_path)
    assert (status, "Traceback" in err) == (2, False), err
    told = [line for line in err.splitlines() if line.startswith(("job ", "1 of 2", f"  {names[0]}"))]
    assert [line[:8] for line in told[:3]] == ["job 2 of", "job 1 of", "1 of 2 j"]
    assert told[3].startswith(f"  {names[0]}: ") and "missing" in told[3].partition(": ")[2]
    assert sweep.run(names[1]).is_scored and checkpoint(second.path)["global_step"] == 90
    assert identity and second.identity() == identity and identity.sweep == SweepPlace("a sweep", 1)
    steps = [each.step for each in second.metrics() if each.name == "train/loss"]
    assert steps == list(range(90))
    assert not sweep.run(names[0]).path.exists()


def test_the_processes_of_a_launcher_do_the_jobs_until_one_fails(corpus: Path, tmp_path: Path) -> None:
    """What failed before comes last, so that it keeps no other job from its end."""
    sweep = SweepDirectory(tmp_path / "sweep")
    common = words(corpus, sweep.path, trainer__devices=2, trainer__max_steps=20)
    common = [word for word in common if not word.startswith("run_dir=")]
    differing = {"000_bad": "data.valid=missing", "001_seed=2": "seed=2", "002_seed=3": "seed=3"}
    sweep.write_jobs([Job(name, [*common, word]) for name, word in differing.items()])
    sweep.write_error("000_bad", "it failed")
    status, err = run(*TORCHRUN, "--nproc-per-node=2", TRAIN, f"resume={sweep.path}", cwd=tmp_path)
    assert status != 0
    assert "2 of 3 jobs are finished; not finished:\n  000_bad: " in err
    assert [each.path.name for each in runs_in(sweep.path) if each.is_scored] == ["001_seed=2", "002_seed=3"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["-m", "seed=1,2", "resume=elsewhere"], "resume= goes on with one run, or with one sweep as it is; leave -m"),
        (["-m", "run_dir=a,b"], "run_dir is the directory of the whole sweep, which names those of its jobs"),
        (["-m", "seed=1,2", "resume=auto"], "resume=auto needs a directory that is the same at each start"),
        (["-m", "optim.lr=-1,-2"], "optim.lr=-1.0 must be above 0"),
        (["-m", "seed=1,2", "+optim.ler=1"], "there is no configuration key 'optim.ler'; did you mean optim.lr"),
        (["resume=SWEEP", "seed=4"], "seed=4 cannot be used when a sweep goes on, since each job has its own"),
        (["resume=SWEEP", "data=multi30k"], "data=multi30k cannot be used when a sweep goes on, since each job"),
        (["resume=SEARCH"], "resume=SEARCH is a search; go on with: python -m seq2seq search SEARCH"),
        (["-m", "seed=1,2", "run_dir=SWEEP"], "run_dir=SWEEP holds a sweep already; continue it with resume=SWEEP"),
        (["-m", "seed=1,3", "run_dir=SWEEP", "resume=auto"], "run_dir=SWEEP holds a sweep of other jobs; name another"),
    ],
)  # fmt: skip
def test_what_no_sweep_can_do_is_told_before_it_does_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    SweepDirectory(Path("SWEEP")).write_jobs([Job("000_seed=1", ["seed=1"]), Job("001_seed=2", ["seed=2"])])
    SweepDirectory(Path("SEARCH")).write_search({})
    with pytest.raises(SystemExit, match="2"):
        cli.front_door("train", asked)
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"error: {told}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SEARCH", "SWEEP"]


def test_a_path_with_an_equals_sign_needs_no_quotes(tmp_path: Path, monkeypatch, capsys) -> None:
    """As in the name of each job; Hydra alone would refuse it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        cli.front_door("train", ["resume=runs/000_seed=1"])
    assert capsys.readouterr().err.startswith("error: runs/000_seed=1: nothing to resume")


def test_what_a_value_looks_up_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTER", "${oc.env:HOME}")
    with pytest.raises(ConfigError, match=r"name: '\$\{oc\.env:HOME\}' names a value"):
        composed(["name=${oc.env:OUTER}"])
    assert composed(["name=${hydra:job.name}", "seed=3"]).seed == 3
    with pytest.raises(ConfigError, match="nothing"):
        composed(["run_dir=${nothing}"])
