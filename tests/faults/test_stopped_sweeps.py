"""Sweeps and searches in the middle of which somebody stops or kills them: what goes on, and from where."""

import json
import signal
from pathlib import Path

import pytest
from optuna.trial import TrialState

from seq2seq.artifacts.lease import is_leased
from seq2seq.artifacts.run_directory import runs_in
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.sweeps.search import Search, begin_search, read_search, words_of_trials
from seq2seq.sweeps.space import read_space
from tests.faults.runs import FAULTY_TRAIN, steps_saved
from tests.nightly import IS_NIGHTLY
from tests.training.launching import end_of, run, started, wait_for
from tests.training.tiny_runs import TINY


def words(corpus: Path, sweep: Path, **changes: object) -> list[str]:
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "trainer.max_epochs": 0}
    keys |= {"trainer.max_steps": 9, "trainer.val_every_n_steps": 3, "trainer.patience": 0}
    keys |= {"run_dir": sweep} | {name.replace("__", "."): value for name, value in changes.items()}
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


@pytest.mark.nightly
@pytest.mark.parametrize("fault", ["Ctrl-C", "orphan"])
def test_a_sweep_that_is_interrupted_goes_on_where_it_stopped(tiny_corpus: Path, tmp_path: Path, fault: str) -> None:
    """The fault comes in the fifth step of the first job. The second one has not begun, and fails in the end."""
    sweep = SweepDirectory(tmp_path / "runs/a sweep")
    names = ["000_model.d_model=16", "001_model.d_model=15"]
    first, second = map(sweep.run, names)
    asked = words(tiny_corpus, sweep.path, model__d_model="16,15")
    at_step_5, never = (json.dumps([fault, "step", step]) for step in (5, 0))
    with started(FAULTY_TRAIN, "-m", *asked, cwd=tmp_path, is_fresh=False, FAULT=at_step_5) as interrupted:
        status, err = end_of(interrupted)  # the job has ended, too
    assert "Traceback" not in err
    if fault == "Ctrl-C":
        assert status == 130 and err.endswith("interrupted\n")
        go_on_with = f"python -m seq2seq train 'resume={sweep.path}'"  # its name has a space
        assert f"the sweep is stopped; go on with: {go_on_with}" in err
    else:
        assert status == -signal.SIGKILL
    assert sweep.jobs() == names[:1]
    assert 5 <= steps_saved(first.path) < 9 and not first.is_scored and not second.path.exists()
    identity = first.identity()
    go_on = (f"resume={sweep.path}", "trainer.progress=false")
    status, err = run(FAULTY_TRAIN, *go_on, cwd=tmp_path, is_fresh=False, FAULT=never)
    assert status == 2
    assert "1 of 2 jobs are finished" in err and f"  {names[1]}: " in err and "does not split" in sweep.error(names[1])
    assert sweep.run(names[0]).is_scored and steps_saved(first.path) == 9
    assert identity and first.identity() == identity
    assert [each.step for each in first.metrics() if each.name == "train/loss"] == list(range(1, 10))
    assert not second.path.exists()


SEARCHES = f"""
import sys
from pathlib import Path
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.exit_status import exit_status
from seq2seq.sweeps.search import Search, read_search
from tests.faults.faulty_train import prepare

prepare()
sweep = SweepDirectory(Path(sys.argv[1]))
search = Search(sweep, *read_search(sweep), command=[sys.executable, {str(FAULTY_TRAIN)!r}])
sys.exit(exit_status(lambda: search.work(1)))
"""


@pytest.mark.parametrize("fault", ["orphan", *(["Ctrl-C"] if IS_NIGHTLY else [])])
def test_an_interrupted_search_goes_on_with_what_it_left(tiny_corpus: Path, tmp_path: Path, fault: str) -> None:
    sweep, script = SweepDirectory(tmp_path / "search"), tmp_path / "searches.py"
    script.write_text(SEARCHES)
    space = read_space({"space": {"optim.lr": {"low": 1e-3, "high": 1e-2}}, "trials": 1}, "")
    asked = [word for word in words(tiny_corpus, sweep.path) if not word.startswith(("optim.lr=", "run_dir="))]
    begin_search(sweep, space, words_of_trials(space, asked))
    at_step_5, never = (json.dumps([fault, "step", step]) for step in (5, 0))
    with started(script, sweep.path, cwd=tmp_path, is_fresh=False, FAULT=at_step_5) as interrupted:
        status, err = end_of(interrupted)
    (trained,) = runs_in(sweep.path)
    wait_for(lambda: not is_leased(trained.lease_file))
    if fault == "Ctrl-C":
        told = f"the search is stopped; go on with: python -m seq2seq search {sweep.path}\ninterrupted\n"
        assert (status, err.endswith(told), "Traceback" in err) == (130, True, False), err
    else:
        assert status == -signal.SIGKILL
    search = Search(sweep, *read_search(sweep))
    assert [trial.state for trial in search.study.trials] == [TrialState.RUNNING]
    assert steps_saved(trained.path) == 5
    status, err = run(script, sweep.path, cwd=tmp_path, is_fresh=False, FAULT=never)
    assert status == 0, err
    assert [trial.state for trial in search.study.trials] == [TrialState.COMPLETE]
    assert [metric.step for metric in trained.metrics() if metric.name == "train/loss"] == list(range(1, 10))
    assert len(search.study.trials[0].intermediate_values) == 3
    log = sweep.log_file(trained.path.name).read_text()
    assert "stopped and saved" in log and log.count(" an epoch; ") == 2
