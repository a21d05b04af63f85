"""What a run says of itself: where it comes from, what it made, by which name one finds it; in the files and in W&B."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts import provenance
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import RunError
from seq2seq.training.loggers import open_loggers
from seq2seq.training.trackers import Guarded, artifact_name
from tests.places import ROOT
from tests.training.tiny_runs import checkpoint, tiny_config, train_with
from tests.training.wandb_file import read_parts, read_run

WANDB = {
    "logger.wandb": True,
    "logger.wandb_mode": "offline",
    "logger.wandb_project": "reversing",
    "decoding.beam_size": 1,
    "trainer.max_steps": 3,
}


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """As on a machine that has never seen W&B."""
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    yield
    import wandb

    wandb.teardown()


def without_ends(provenance: dict[str, Any]) -> dict[str, Any]:
    """As it was while the run trained."""
    starts = [{name: fact for name, fact in start.items() if name != "ended"} for start in provenance["starts"]]
    return provenance | {"starts": starts}


def test_a_run_shows_what_it_came_from_and_what_it_made(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    run_dir = tmp_path / "run"
    monkeypatch.setattr(provenance, "_GIT_TIMEOUT_S", 60.0)
    monkeypatch.setenv("SOME_TOKEN", "geheim-geheim")
    monkeypatch.setattr(sys, "argv", ["/somewhere/train.py", "seed=1", "hydra.job.env_set.API_KEY=geheim-geheim"])
    described: dict[str, object] = {
        "logger.wandb_notes": "why I did it",
        "logger.wandb_tags": ["a", "b"],
        "logger.wandb_name": "my run",
    }
    described |= {"logger.upload_model": True, "trainer.val_every_n_steps": 3}
    config = tiny_config(corpus, run_dir, WANDB | described)
    train_with(config)
    config.trainer.max_steps = 5
    train_with(config, resume=True)
    wandb.teardown()
    first, second = read_parts(run_dir)
    assert first["id"] == second["id"]
    assert (first["name"], first["job_type"], first["group"]) == ("my run", "train", "default")
    assert (first["notes"], first["tags"], first["project"]) == ("why I did it", ["a", "b"], "reversing")

    noted = RunDirectory(run_dir).provenance()
    assert [start["command"][:2] for start in noted["starts"]] == [["python", "train.py"]] * 2
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    assert noted["starts"][0]["code"].get("commit", "") == commit.stdout.strip()
    assert noted["corpus"] == RunDirectory(run_dir).corpus() and len(noted["corpus"]["train"]) == 2
    assert noted["tokenizer"] == TrainedModel.read(run_dir).tokenizer.fingerprint
    assert noted["data_report"]["splits"]["train"]["pairs_kept"] == 300
    for name in ("last.ckpt", "model.ckpt", "best.ckpt"):
        found = without_ends(checkpoint(run_dir, name)["provenance"])
        assert found in (without_ends(noted), without_ends(noted | {"starts": noted["starts"][:1]}))
    assert without_ends(checkpoint(run_dir)["provenance"]) == without_ends(noted)
    assert without_ends(read_run(run_dir)["config"])["starts"] == without_ends(noted)["starts"]
    for file in [*run_dir.glob("wandb/**/*"), *run_dir.glob("*")]:
        assert not file.is_file() or b"geheim" not in file.read_bytes(), file

    (model,) = second["artifacts"]
    assert (model.name, model.type, set(model.aliases)) == ("default-fr-en", "model", {"latest", second["id"]})
    assert json.loads(model.metadata)["scores"].keys() == {"test"}

    files = {entry.path: Path(entry.local_path) for entry in model.manifest.contents}
    assert set(files) == {"model.safetensors", "config.json", "tokenizer.model", "README.md", "SHA256SUMS"}
    assert all(file.is_relative_to(run_dir.resolve()) or file.is_relative_to(run_dir) for file in files.values())
    shipped = TrainedModel.read(files["config.json"].parent)
    weights = TrainedModel.read(run_dir).weights
    assert all(torch.equal(shipped.weights[name], weight) for name, weight in weights.items())


def test_notes_that_are_damaged_and_a_model_that_cannot_be_written_hold_no_run_up(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_dir = tmp_path / "run"
    (run_dir / "export").mkdir(parents=True)
    (run_dir / "export/safetensors").write_text("in the way")
    config = tiny_config(
        corpus, run_dir, {"trainer.max_steps": 2, "logger.upload_model": True, "decoding.beam_size": 1}
    )
    train_with(config)
    assert "no model for the trackers: " in caplog.text and "safetensors: exists already" in caplog.text
    assert RunDirectory(run_dir).is_scored
    notes = run_dir / "provenance.json"
    for damaged in ("{", "[]", '{"starts": 3}'):
        notes.write_text(damaged)
        with pytest.raises(RunError, match=r"provenance\.json: "):
            RunDirectory(run_dir).provenance()
    train_with(config, resume=True)
    assert f"{notes}: has no starts, so it is damaged" in caplog.text and "it begins anew" in caplog.text
    assert len(RunDirectory(run_dir).provenance()["starts"]) == 1


def test_a_model_that_cannot_be_given_costs_the_model(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import wandb

    def broken(*args: object, **kwargs: object) -> None:
        raise wandb.errors.CommError("no route to host")

    monkeypatch.setattr(wandb.Artifact, "add_dir", broken)
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    with open_loggers(tiny_config(corpus, run.path, WANDB), run, None) as (_, tracker):
        assert isinstance(tracker, Guarded)
        tracker.attempt(lambda each: each.log_model("default", tmp_path, {}))
        tracker.log_metrics({"loss": 1.0}, 0)
    wandb.teardown()  # `finish` returns before the last rows are on disk
    assert "W&B does not get the model (CommError: no route to host)" in caplog.text
    assert [row["loss"] for row in read_run(run.path)["history"]] == [1.0]


def test_names_of_artifacts_are_such_as_wandb_takes() -> None:
    assert artifact_name("corpus", "my set/2 é", "fr", "en") == "corpus-my-set-2--fr-en"
    assert len(artifact_name("x" * 300)) == 120
