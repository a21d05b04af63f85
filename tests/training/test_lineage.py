"""What a run says of itself: where it comes from, what it made, by which name one finds it; in the files and in W&B."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.training.lineage import artifact_name
from tests.places import ROOT
from tests.training.tiny_runs import checkpoint, tiny_config, train_with
from tests.training.wandb_file import read_parts, read_run

WANDB = {
    "logger.wandb": True,
    "logger.wandb_mode": "offline",
    "logger.wandb_project": "reversing",
    "logger.n_samples": 0,
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


@pytest.mark.slow
def test_a_run_shows_what_it_came_from_and_what_it_made(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    run_dir = tmp_path / "run"
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
    assert [start["command"][0] for start in noted["starts"]] == ["train.py"] * 2
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    assert noted["starts"][0]["code"].get("commit", "") == commit.stdout.strip()
    assert noted["starts"][0]["packages"]["torch"] == version("torch")
    assert noted["corpus"] == RunDirectory(run_dir).corpus() and len(noted["corpus"]["train"]) == 2
    assert noted["tokenizer"] == TrainedModel.read(run_dir).tokenizer.fingerprint
    assert noted["data_report"]["splits"]["train"]["pairs_kept"] == 300
    for name in ("last.ckpt", "model.ckpt", "best.ckpt"):
        assert checkpoint(run_dir, name)["provenance"] in (noted, noted | {"starts": noted["starts"][:1]})
    assert checkpoint(run_dir)["provenance"] == noted
    run = read_run(run_dir)
    assert run["config"]["starts"] == noted["starts"]
    assert [row["trainer/global_step"] for row in run["history"] if "train/loss" in row] == list(range(5))
    for file in [*run_dir.glob("wandb/**/*"), *run_dir.glob("*")]:
        assert not file.is_file() or b"geheim" not in file.read_bytes(), file

    used = {artifact.type: artifact for artifact in first["artifacts"] if artifact.use_after_commit}
    assert set(used) == {"corpus", "tokenizer"} and used["corpus"].name == "corpus-reversing-fr-en"
    facts = json.loads((run_dir / "wandb/lineage/corpus-reversing-fr-en/facts.json").read_text())
    assert facts["splits"]["train"] == {"pairs": 300, "sha256": list(noted["corpus"]["train"])}
    assert json.loads(used["corpus"].metadata) == facts
    (model,) = [artifact for artifact in second["artifacts"] if artifact.type == "model"]
    assert (model.name, set(model.aliases)) == ("default-fr-en", {"latest", second["id"]})
    assert not model.use_after_commit
    assert json.loads(model.metadata)["scores"].keys() == {"test"}
    assert [each.digest for each in second["artifacts"]][:2] == [each.digest for each in first["artifacts"]][:2]

    files = {entry.path: Path(entry.local_path) for entry in model.manifest.contents}
    assert set(files) == {"model.safetensors", "config.json", "tokenizer.model", "README.md", "SHA256SUMS"}
    assert all(file.is_relative_to(run_dir.resolve()) or file.is_relative_to(run_dir) for file in files.values())
    shipped = TrainedModel.read(files["config.json"].parent)
    weights = TrainedModel.read(run_dir).weights
    assert all(torch.equal(shipped.weights[name], weight) for name, weight in weights.items())


def test_neither_text_nor_tokenizer_nor_model_leaves_unasked(corpus: Path, tmp_path: Path) -> None:
    import wandb

    run_dir = tmp_path / "run"
    train_with(tiny_config(corpus, run_dir, WANDB))
    wandb.teardown()
    (part,) = read_parts(run_dir)
    names = {artifact.type: [entry.path for entry in artifact.manifest.contents] for artifact in part["artifacts"]}
    assert names == {"corpus": ["facts.json"], "tokenizer": ["facts.json"]}
    assert not (run_dir / "export").exists()
    sentences = (corpus / "train.fr").read_bytes().splitlines() + (corpus / "valid.en").read_bytes().splitlines()
    for file in [file for file in (run_dir / "wandb").rglob("*") if file.is_file()]:
        content = file.read_bytes()
        assert not any(sentence in content for sentence in sentences), file


def test_damaged_notes_hold_no_run_up(corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_steps": 2})
    train_with(config)
    file = tmp_path / "run/provenance.json"
    for damaged in ("{", "[]", '{"starts": 3}'):
        file.write_text(damaged)
        train_with(config, resume=True)
        assert f"{file}: " in caplog.text and "it begins anew" in caplog.text
        assert len(json.loads(file.read_text())["starts"]) == 1
        caplog.clear()


def test_a_lineage_that_fails_costs_the_lineage(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import wandb

    def broken(*args: object, **kwargs: object) -> None:
        raise wandb.errors.CommError("no route to host")

    monkeypatch.setattr(wandb.Artifact, "add_file", broken)
    monkeypatch.setattr(wandb.Artifact, "add_dir", broken)
    train_with(tiny_config(corpus, tmp_path / "run", WANDB | {"logger.upload_model": True}))
    wandb.teardown()
    assert "W&B does not show what this run came from (CommError: no route to host)" in caplog.text
    assert "W&B does not get the model (CommError: no route to host)" in caplog.text
    logged = read_run(tmp_path / "run")
    assert len([row for row in logged["history"] if "train/loss" in row]) == 3 and logged["summary"]["selected"]


def test_a_model_that_cannot_be_written_is_told(corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run_dir = tmp_path / "run"
    (run_dir / "export").mkdir(parents=True)
    (run_dir / "export/safetensors").write_text("in the way")
    train_with(tiny_config(corpus, run_dir, {"trainer.max_steps": 2, "logger.upload_model": True}))
    assert "no model for the trackers: " in caplog.text and "safetensors: exists already" in caplog.text
    assert RunDirectory(run_dir).is_scored


def test_names_of_artifacts_are_such_as_wandb_takes() -> None:
    assert artifact_name("corpus", "my set/2 é", "fr", "en") == "corpus-my-set-2--fr-en"
    assert len(artifact_name("x" * 300)) == 120


def test_variables_are_no_part_of_what_is_noted(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "SOME_TOKEN", "geheim-geheim")
    train_with(tiny_config(corpus, tmp_path / "run", {"trainer.max_steps": 1}))
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"geheim" not in file.read_bytes(), file
