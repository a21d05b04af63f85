"""Sweeps and searches in the middle of which somebody stops or kills them: what goes on, and from where."""

import os
import signal
from pathlib import Path

import pytest
from optuna.trial import TrialState

from seq2seq.artifacts.identity import SweepPlace
from seq2seq.artifacts.run_directory import runs_in
from seq2seq.artifacts.sweep_directory import Job, SweepDirectory
from seq2seq.sweeps.search import Search, read_search
from tests.nightly import IS_NIGHTLY
from tests.training.launching import TORCHRUN, TRAIN, end_of, others, run, started, wait_for
from tests.training.tiny_runs import TINY, checkpoint

pytestmark = pytest.mark.slow


def words(corpus: Path, sweep: Path, **changes: object) -> list[str]:
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "trainer.max_epochs": 0}
    keys |= {"trainer.max_steps": 90, "trainer.val_every_n_steps": 15, "trainer.patience": 0}
    keys |= {"run_dir": sweep} | {name.replace("__", "."): value for name, value in changes.items()}
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


@pytest.mark.parametrize("kill", ["Ctrl-C", *(["kill -9"] if IS_NIGHTLY else [])])
def test_a_sweep_that_is_interrupted_goes_on_where_it_stopped(tiny_corpus: Path, tmp_path: Path, kill: str) -> None:
    """The first job fails. The second one is interrupted, goes on from its state, and the first is tried once more."""
    sweep = SweepDirectory(tmp_path / "runs/a sweep")
    names = ["000_data.valid=missing", "001_data.valid=valid"]
    second = sweep.run(names[1])
    asked = words(tiny_corpus, sweep.path, data__valid="missing,valid")
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


@pytest.mark.nightly
def test_the_processes_of_a_launcher_do_the_jobs_until_one_fails(tiny_corpus: Path, tmp_path: Path) -> None:
    """What failed before comes last, so that it keeps no other job from its end."""
    sweep = SweepDirectory(tmp_path / "sweep")
    common = words(tiny_corpus, sweep.path, trainer__devices=2, trainer__max_steps=20)
    common = [word for word in common if not word.startswith("run_dir=")]
    differing = {"000_bad": "data.valid=missing", "001_seed=2": "seed=2", "002_seed=3": "seed=3"}
    sweep.write_jobs([Job(name, [*common, word]) for name, word in differing.items()])
    sweep.write_error("000_bad", "it failed")
    status, err = run(*TORCHRUN, "--nproc-per-node=2", TRAIN, f"resume={sweep.path}", cwd=tmp_path)
    assert status != 0
    assert "2 of 3 jobs are finished; not finished:\n  000_bad: " in err
    assert [each.path.name for each in runs_in(sweep.path) if each.is_scored] == ["001_seed=2", "002_seed=3"]


@pytest.mark.parametrize("kill", ["kill -9", *(["Ctrl-C"] if IS_NIGHTLY else [])])
def test_an_interrupted_search_goes_on_with_what_it_left(tiny_corpus: Path, tmp_path: Path, kill: str) -> None:
    sweep = SweepDirectory(tmp_path / "search")
    (tmp_path / "space.yaml").write_text("space: {optim.lr: {low: 1e-3, high: 1e-2}}\ntrials: 1\n")
    asked = [word for word in words(tiny_corpus, sweep.path) if not word.startswith("optim.lr=")]
    with started("-m", "seq2seq", "search", "space.yaml", *asked, cwd=tmp_path) as first:
        wait_for(lambda: list(sweep.path.glob("000*/checkpoints/last.ckpt")), first)
        if kill == "Ctrl-C":
            os.killpg(first.pid, signal.SIGINT)
            status, err = end_of(first)
            told = f"the search is stopped; go on with: python -m seq2seq search {sweep.path}\ninterrupted\n"
            assert (status, err.endswith(told), "Traceback" in err) == (130, True, False), err
        else:
            first.kill()  # and its trial still saves when the next worker comes
        search = Search(sweep, *read_search(sweep))
        assert [trial.state for trial in search.study.trials] == [TrialState.RUNNING]
        (run,) = runs_in(sweep.path)
        search.work(1)
        wait_for(lambda: not others(first))
    assert [trial.state for trial in search.study.trials] == [TrialState.COMPLETE]
    assert [metric.step for metric in run.metrics() if metric.name == "train/loss"] == list(range(90))
    assert len(search.study.trials[0].intermediate_values) == 6
    log = sweep.log_file(run.path.name).read_text()
    assert "stopped and saved" in log and log.count(" an epoch; ") == 2
