"""A directory belongs to one run, and a run to one process at a time."""

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import seq2seq
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import ConfigError, RunError
from seq2seq.training.composed import fresh_directory
from seq2seq.training.run import claimed
from tests.training.launching import TRAIN, started, wait_for
from tests.training.tiny_runs import arguments, checkpoint, train_here

PLAIN_END: dict[str, Any] = {"data.test": "null", "decoding.beam_size": 1, "trainer.average_last": 0}


def test_a_run_that_died_before_its_first_checkpoint_leaves_its_directory_free(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.checkpoints.mkdir(parents=True)
    (run.path / "config.yaml").touch()
    with claimed(run, resumes=False):
        pass
    run.last.touch()
    with pytest.raises(ConfigError, match="holds a run already"), claimed(run, resumes=False):
        pass


def test_an_identity_is_kept_when_a_run_is_resumed_and_made_anew_for_another(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    identities = []
    for resumes in (False, True, False):
        with claimed(run, resumes=resumes) as identity:
            (run.path / "config.yaml").touch()
            identities.append(identity)
            assert run.identity() == identity
    assert identities[0] == identities[1] != identities[2]


def test_a_run_of_an_older_version_gets_an_identity_when_it_is_resumed(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.checkpoints.mkdir()
    assert run.identity() is None
    with claimed(run, resumes=True) as identity:
        assert run.identity() == identity


def test_a_run_that_comes_to_nothing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), claimed(RunDirectory(tmp_path / "a/run"), resumes=False):
        _ = 1 / 0
    assert not (tmp_path / "a/run").exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"id": "1", "corpus": 3, "tokenizer": ""}'])
def test_a_damaged_identity_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError, match=r"run\.json: is not the identity of a run, so it is damaged"):
        RunDirectory(tmp_path).identity()


def test_no_two_runs_get_the_same_fresh_directory(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: fresh_directory(tmp_path / "runs/now"), range(8)))
    assert {path.name for path in made} == {"now", *(f"now-{number}" for number in range(2, 9))}
    assert all(path.is_dir() for path in made)


def test_a_run_that_is_refused_leaves_no_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "sometimes")
    for work in (seq2seq.train, lambda words: train_here(*words)):
        with suppress(ConfigError):
            work(["experiment=demo", "logger=wandb"])  # whose directory is of this moment
        assert not [*tmp_path.rglob("*_*")]


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = r"run_dir=\S+file/run cannot be made \(Not a directory\)"
    with pytest.raises(ConfigError, match=message):
        fresh_directory(tmp_path / "file/run")
    with pytest.raises(ConfigError, match=message), claimed(RunDirectory(tmp_path / "file/run"), resumes=False):
        pass


def test_a_run_that_is_at_work_cannot_be_resumed_until_it_ends(corpus, tmp_path, own_signals):
    """Even where it is killed, and where other processes assemble its batches."""
    run_dir = tmp_path / "run"
    changes: dict[str, Any] = {"trainer.max_epochs": 0, "trainer.max_steps": 10**6, "trainer.val_every_n_steps": 5}
    changes |= {"batch.n_workers": 1, "trainer.valid_sentences": 1, "trainer.patience": 0}
    changes |= PLAIN_END
    words = arguments(corpus, run_dir, changes)
    with started(TRAIN, *words, cwd=tmp_path) as process:
        wait_for((run_dir / "checkpoints/last.ckpt").exists, process)
        for attempt, remedy in (
            (words, "name another run_dir"),
            ([f"resume={run_dir}"], "wait for its end, or stop it"),
        ):
            refused = train_here(*attempt)
            assert refused.returncode == 2
            assert f"error: {run_dir} belongs to a run that is at work, process {process.pid} on " in refused.stderr
            assert refused.stderr.endswith(f"; {remedy}\n")
        process.send_signal(signal.SIGKILL)
        process.wait()
        step = checkpoint(run_dir)["global_step"]
        done = train_here(f"resume={run_dir}", f"trainer.max_steps={step + 2}")
    assert done.returncode == 0, done.stderr
    assert checkpoint(run_dir)["global_step"] == step + 2
