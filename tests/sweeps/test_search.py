"""A search with Optuna: trials that finish, fail and end early, workers that share them, and what they leave."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import optuna
import pytest
from filelock import FileLock, Timeout
from optuna.trial import TrialState, create_trial

import seq2seq
from seq2seq import cli
from seq2seq.artifacts.run_directory import runs_in
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.config import RunConfig
from seq2seq.config.on_resume import RUNTIME, classes, value_of
from seq2seq.errors import ConfigError, RunError
from seq2seq.exit_status import exit_status
from seq2seq.sweeps import job_process
from seq2seq.sweeps.search import Search, begin_search, job_of, read_search
from seq2seq.sweeps.space import Space, read_space
from seq2seq.sweeps.trial_table import report, table
from tests.nightly import IS_NIGHTLY
from tests.processes import Warm
from tests.training.launching import end_of, started
from tests.training.tiny_runs import TINY

AXES = {"optim.lr": {"low": 1e-9, "high": 1e-1, "log": True}, "model.d_model": {"choices": [16, 15]}}


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2seq.sweeps.search.POLL_S", 0.02)


@pytest.fixture
def warm_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials whose process has imported torch before, which takes seconds; at night they are fresh."""

    def popen(command: Sequence[str], *, env: Mapping[str, str], stdout: IO[bytes], **options: object) -> Warm:
        warm = {**env, "OMP_NUM_THREADS": "1"}
        del warm["SEQ2SEQ_PARENT"]  # another process forks it
        return Warm(command[1:], env=warm, stdout=stdout, stderr=stdout)

    if not IS_NIGHTLY:
        monkeypatch.setattr(job_process, "subprocess", SimpleNamespace(Popen=popen, DEVNULL=None, STDOUT=None))


def space_of(**changes: Any) -> Space:
    return read_space({"space": AXES, "metric": "valid/loss", "random_trials": 1, "prune_from": 1} | changes, "")


def words(corpus: Path, **changes: object) -> list[str]:
    keys = {key: value for key, value in TINY.items() if key not in ("optim.lr", "model.d_model")}
    keys |= {"data.dir": corpus, "data.cache_dir": corpus / "cache", "trainer.max_epochs": 0, "trainer.patience": 0}
    keys |= {"trainer.max_steps": 4, "trainer.val_every_n_steps": 2}
    keys |= {name.replace("__", "."): value for name, value in changes.items()}
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


def new(sweep: SweepDirectory, space: Space, words: list[str]) -> Search:
    words = [*words, f"trainer.monitor={space.metric}"]
    begin_search(sweep, space, words)
    return Search(sweep, space, words)


def what_decides(config: RunConfig) -> dict[str, Any]:
    """What a run computes: not where, and not what it is called."""
    return {key: value_of(config, key) for key, mark in classes(RunConfig).items() if mark != RUNTIME}


def states(search: Search) -> list[TrialState]:
    return [trial.state for trial in search.study.trials]


def test_trials_are_runs_and_one_that_fails_stops_no_other(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], warm_jobs: None
) -> None:
    sweep, space = SweepDirectory(tmp_path / "search"), space_of(trials=2)
    search = new(sweep, space, words(corpus))
    for d_model in (15, 16):
        search.study.enqueue_trial({"optim.lr": 5e-3, "model.d_model": d_model})
    cli.main(["search", str(sweep.path), "--workers", "2"])
    told = capsys.readouterr().out
    assert states(search) == [TrialState.FAIL, TrialState.COMPLETE]
    name = "001_optim.lr=0.005_model.d_model=16"
    run = sweep.run(name)
    assert [name] == [each.path.name for each in runs_in(sweep.path)]
    config = run.config()
    assert config.logger.wandb_group == "search"
    selection = run.selection()
    trial = search.study.trials[1]
    assert trial.value == selection.valid[selection.selected]["loss"]
    measured = [metric.value for metric in run.metrics() if metric.name == "valid/loss"]
    assert trial.intermediate_values == dict(enumerate(measured, start=1)) and len(measured) == 2
    assert "trial 0 failed: model.d_model=15 does not split over model.n_heads=2" in told
    assert "best: trial 1, valid/loss " in told
    command = told.splitlines()[-1]
    assert command.startswith("python train.py ")
    best = seq2seq.config(shlex.split(command)[2:])
    assert what_decides(best) == what_decides(config)
    assert (best.optim.lr, best.model.d_model, best.trainer.max_steps) == (5e-3, 16, 4)


def test_a_command_begins_a_search_in_the_directory_that_it_names_or_in_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text("space: {optim.lr: {low: 1e-3, high: 1e-2}}\nmetric: valid/loss\ntrials: 7\n")
    begun: list[tuple[Search, int]] = []
    monkeypatch.setattr(Search, "work", lambda search, n_at_once: begun.append((search, n_at_once)))
    cli.main(["search", "space.yaml", "seed=3", "--trials", "2"])
    cli.main(["search", "space.yaml", "seed=3", "run_dir=here", "--workers", "4"])
    assert [n_at_once for _, n_at_once in begun] == [1, 4]
    for (search, _), n_trials in zip(begun, (2, 7), strict=True):
        assert read_search(search.sweep) == (search.space, ["seed=3", "trainer.monitor=valid/loss"])
        assert search.space.trials == n_trials
    assert begun[0][0].sweep.path.is_relative_to("runs") and begun[1][0].sweep.path == Path("here")


# Stand in for a training: with one validation, and with an end.
MEASURES = """
import json, signal, sys
from pathlib import Path

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
(run,) = (Path(word.removeprefix("run_dir=").strip("'")) for word in sys.argv if word.startswith("run_dir="))
run.mkdir()
(run / "new").write_text("step,metric,value,unix_time\\n1,valid/loss,9.5,0.0\\n")
(run / "new").rename(run / "metrics.csv")
"""
IS_BAD = MEASURES + "signal.pause()"
# The second trial begins while the first one is at work.
NEEDS_ANOTHER = (
    MEASURES
    + """
import time
while len(list(run.parent.glob("*/metrics.csv"))) < 2:
    time.sleep(0.01)
(run / "selection.json").write_text(json.dumps({"selected": "a", "step": 1, "valid": {"a": {"loss": 9.5}}}))
(run / "scores.json").write_text("{}")
"""
)
WORKS = """
import sys
from pathlib import Path
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.sweeps.search import Search, read_search

sweep = SweepDirectory(Path(sys.argv[1]))
Search(sweep, *read_search(sweep), command=[sys.executable, "-c", sys.argv[2]]).work(1)
"""


def test_a_trial_that_is_worse_than_the_median_ends_early(tmp_path: Path) -> None:
    sweep, space = SweepDirectory(tmp_path / "search"), space_of(trials=2)
    search = new(sweep, space, [])
    search.command = [sys.executable, "-c", IS_BAD]
    good = {"optim.lr": 1e-2, "model.d_model": 16}
    search.study.add_trial(
        create_trial(params=good, distributions=space.distributions(), value=0.1, intermediate_values={1: 0.1})
    )
    search.study.enqueue_trial({"optim.lr": 1e-8, "model.d_model": 16})
    search.work(1)
    assert states(search) == [TrialState.COMPLETE, TrialState.PRUNED]
    assert not sweep.error("001_optim.lr=1e-08_model.d_model=16")
    assert "| 1 |  | pruned | " in report(search)


def test_a_longer_search_that_is_stopped_says_how_to_go_on_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    search = new(SweepDirectory(tmp_path / "search"), space_of(trials=2), [])

    def stopped(search: Search) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_next", stopped)
    for trials, asked in ((2, ""), (40, " --trials 40")):
        search.space = space_of(trials=trials)
        assert exit_status(lambda: search.work(1)) == 130
        told = f"the search is stopped; go on with: python -m seq2seq search {search.sweep.path}{asked}\n"
        assert told in capsys.readouterr().err


def test_two_workers_share_a_search(tmp_path: Path) -> None:
    """Another process and this one, with the same command: each trial is done once."""
    sweep, script = SweepDirectory(tmp_path / "search"), tmp_path / "works.py"
    script.write_text(WORKS)
    search = new(sweep, space_of(trials=2), [])
    search.command = [sys.executable, "-c", NEEDS_ANOTHER]
    with started(script, sweep.path, NEEDS_ANOTHER, cwd=tmp_path) as other:
        search.work(1)
        status, err = end_of(other)
        assert status == 0, err
    assert states(search) == [TrialState.COMPLETE] * 2
    assert len(list(sweep.path.glob("*/scores.json"))) == 2
    assert err.count(": finished") == 1


def test_how_a_trial_ended_is_told_while_no_other_worker_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it could find the trial at work and nobody at it, and do it again."""
    search = new(SweepDirectory(tmp_path / "search"), space_of(trials=1), [])
    search.command = [sys.executable, "-c", "raise SystemExit(2)"]
    tell, is_alone = search.study.tell, []

    def told(*arguments: Any) -> None:
        other = FileLock(search.sweep.study_lock)
        with pytest.raises((Timeout, RuntimeError)):
            other.acquire(timeout=0)
        is_alone.append(True)
        tell(*arguments)

    monkeypatch.setattr(search.study, "tell", told)
    search.work(1)
    assert states(search) == [TrialState.FAIL] and is_alone


def test_what_is_drawn_depends_on_the_seed_and_the_number_of_a_trial_alone(tmp_path: Path) -> None:
    """A search that is interrupted after each trial draws as one that never was."""
    drawn = []
    for folder, n_parts in (("whole", 1), ("parts", 3)):
        sweep, space = SweepDirectory(tmp_path / folder), space_of(trials=3, random_trials=3)
        for _ in range(n_parts):
            search = new(sweep, space, [])
            search.command = [sys.executable, "-c", "raise SystemExit(2)"]
            search.space = read_space({**asdict(space), "trials": len(search.study.trials) + 3 // n_parts}, "")
            if n_parts == 1:
                with pytest.raises(RunError, match=r"the first 3 trials failed; see "):
                    search.work(1)
            else:
                search.work(1)
        drawn.append([trial.params for trial in search.study.trials])
    assert drawn[0] == drawn[1] and len({params["optim.lr"] for params in drawn[0]}) == 3


def test_any_seed_draws(tmp_path: Path) -> None:
    search = new(SweepDirectory(tmp_path / "search"), space_of(seed=10**20, random_trials=3), [])
    assert search._next()


def test_a_worker_that_ended_while_it_drew_values_stops_no_other(tmp_path: Path) -> None:
    sweep, space = SweepDirectory(tmp_path / "search"), space_of(trials=3)
    search = new(sweep, space, [])
    search.study.ask()  # and it was killed
    search.study.ask({"optim.lr": space.distributions()["optim.lr"]})
    search.command = [sys.executable, "-c", MEASURES]
    search.work(1)
    assert states(search) == [TrialState.FAIL] * 3
    assert [len(trial.params) for trial in search.study.trials] == [0, 1, 2]
    told = report(search)
    assert "trial 1 failed: its worker ended while it drew the values; none was tried" in told


def test_a_table_has_the_best_first_and_those_that_did_not_finish_last() -> None:
    space = space_of()
    distributions = space.distributions()

    def trial(number: int, lr: float, **more: Any) -> optuna.trial.FrozenTrial:
        made = create_trial(params={"optim.lr": lr, "model.d_model": 16}, distributions=distributions, **more)
        made.number = number
        return made

    trials = [
        trial(0, 1e-3, state=TrialState.FAIL),
        trial(1, 2e-3, value=2.5, intermediate_values={1: 3.0, 2: 2.5}),
        trial(2, 3e-3, state=TrialState.PRUNED, intermediate_values={1: 9.0}),
        trial(3, 4e-3, value=1.5),
    ]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table(space, trials).splitlines()[2:]]
    assert rows[0] == ["trial", "valid/loss", "how it ended", "validations", "minutes", "optim.lr", "model.d_model"]
    assert [[row[0], row[1], row[2], row[3], row[5]] for row in rows[2:]] == [
        ["3", "1.5", "finished", "0", "0.004"],
        ["1", "2.5", "finished", "2", "0.002"],
        ["2", "", "pruned", "1", "0.003"],
        ["0", "", "failed", "0", "0.001"],
    ]
    upwards = read_space({**asdict(space), "metric": "valid/bleu"}, "")
    assert table(upwards, trials).splitlines()[4].startswith("| 1 | 2.5 ")


def test_the_word_of_a_value_is_whole_and_its_name_is_short() -> None:
    assert job_of(7, space_of(), {"optim.lr": 0.00123456789, "model.d_model": 16}) == (
        "007_optim.lr=0.00123_model.d_model=16",
        ["optim.lr=0.00123456789", "model.d_model=16"],
    )


def test_a_value_that_is_no_number_is_a_failure(tmp_path: Path) -> None:
    sweep, space = SweepDirectory(tmp_path), space_of(trials=1)
    search = new(sweep, space, [])
    search.study.enqueue_trial({"optim.lr": 1e-2, "model.d_model": 16})
    run = sweep.run("000_optim.lr=0.01_model.d_model=16")
    run.path.mkdir()
    (run.path / "selection.json").write_text('{"selected": "a", "step": 1, "valid": {"a": {"loss": NaN}}}')
    (run.path / "scores.json").write_text("{}")
    search.command = [sys.executable, "-c", ""]
    search.work(1)
    assert states(search) == [TrialState.FAIL]
    assert sweep.error(run.path.name) == "valid/loss is not a number"


def test_a_directory_has_one_search(tmp_path: Path) -> None:
    sweep, space = SweepDirectory(tmp_path / "search"), space_of()
    begin_search(sweep, space, ["seed=1"])
    begin_search(sweep, space_of(trials=70), ["seed=1"])
    assert read_search(sweep) == (space, ["seed=1"])
    for other in ((space, ["seed=2"]), (space_of(seed=5), ["seed=1"])):
        with pytest.raises(ConfigError, match="holds another search; name another run_dir, or go on with it"):
            begin_search(sweep, *other)
    full = SweepDirectory(tmp_path / "sweep")
    full.path.mkdir()
    (full.path / "multirun.yaml").touch()
    with pytest.raises(ConfigError, match="holds something else than a search; name another run_dir"):
        begin_search(full, space, [])


@pytest.mark.parametrize("content", ["{}", "[]", '{"space": {}, "words": []}', '{"space": 3}'])
def test_a_damaged_search_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "search.json").write_text(content)
    with pytest.raises(RunError, match=r"its search\.json is damaged; restore it"):
        read_search(SweepDirectory(tmp_path))


def test_a_search_needs_optuna(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["search", "multi30k"])
    assert "needs the package optuna; run, in a clone of seq2seq: pip install -e" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["nothing"], "nothing is neither a file, nor a search's directory, nor a space in conf/search: multi30k"),
        (["SEARCH", "seed=3"], "seed=3 cannot change a search that goes on; leave it out, or begin another one"),
        (["multi30k", "optim.lr=3"], "optim.lr=3 is given for all trials, and the search decides optim.lr; leave one"),
        (["multi30k", "trainer.monitor=valid/bleu"], "trainer.monitor=valid/bleu is given for all trials, and the"),
        (["multi30k", "optim.ler=3"], "there is no configuration key 'optim.ler'; did you mean optim.lr"),
        (["multi30k", "seed=1,2"], "Ambiguous value for argument 'seed=1,2'"),
        (["multi30k", "resume=here"], "resume=here goes on with a run that is there; leave it out for a new one"),
    ],
)
def test_what_no_search_can_do_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    begin_search(SweepDirectory(Path("SEARCH")), space_of(), [])
    with pytest.raises(SystemExit, match="2"):
        cli.main(["search", *asked])
    assert capsys.readouterr().err.startswith(f"error: {told}")
    assert [path.name for path in tmp_path.iterdir()] == ["SEARCH"]


@pytest.mark.parametrize(
    ("axis", "told"),
    [
        ("model: {choices: [tiny, huge]}", "model=huge is not a preset; choose one of: "),
        ("model: {choices: [1]}", "Hydra cannot read these words (Config group override must be a string"),
        ("search: {choices: [multi30k]}", "Could not override 'search'"),
        ("seed: {low: 1.5, high: 3}", "seed: Value '1.5' of type 'float' could not be converted to Integer"),
        ("seed: {choices: [1, many]}", "seed: Value 'many' of type 'str' could not be converted to Integer"),
        ("seed: {choices: [1, [1]]}", "seed: "),
    ],
)
def test_a_value_that_a_key_cannot_have_is_told_before_any_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], axis: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Search, "work", lambda *_: None)
    Path("space.yaml").write_text(f"space: {{optim.lr: {{low: 1e-3, high: 1e-2}}, {axis}}}\n")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["search", "space.yaml"])
    assert capsys.readouterr().err.startswith(f"error: {told}")
    assert [path.name for path in tmp_path.iterdir()] == ["space.yaml"]
