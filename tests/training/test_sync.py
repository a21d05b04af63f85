"""What runs recorded offline arrives at a server on this machine, in its order."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training.loggers import sync_notice
from tests.places import made_once
from tests.training.tiny_runs import tiny_config, train_with
from tests.training.wandb_file import read_parts
from tests.training.wandb_server import WandbServer, wandb_server

WANDB = {"logger.wandb": True, "logger.wandb_mode": "offline", "trainer.max_steps": 2}
WANDB |= {"decoding.beam_size": 1, "decoding.max_length_b": 2}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WandbServer]:
    """A server, and credentials for it."""
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        monkeypatch.setenv("WANDB_MODE", "offline")  # is about runs, and not about what is synced
        monkeypatch.delenv("WANDB_SERVICE", raising=False)  # of runs of this process
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        yield server


@pytest.fixture(scope="session")
def recorded(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two jobs, the first of which was resumed; nothing of it is synced."""

    def record(folder: Path) -> None:
        import wandb

        for number, lr in enumerate((1e-3, 2e-3)):
            job = {"optim.lr": lr, "logger.wandb_group": "my_sweep", "logger.upload_model": number == 0}
            config = tiny_config(corpus, folder / f"{number:03d}", WANDB | job)
            train_with(config)
            if number == 0:
                config.trainer.max_steps = 4
                train_with(config, resume=True)
        wandb.teardown()  # `finish` returns before the last rows are on disk

    return made_once(tmp_path_factory, "sweeps", lambda folder: record(folder / "my_sweep")) / "my_sweep"


@pytest.fixture
def sweep(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "my_sweep", symlinks=True))


def test_a_sweep_is_one_group_of_one_run_a_job(sweep: Path) -> None:
    first, resumed = read_parts(sweep / "000")
    (second,) = read_parts(sweep / "001")
    assert {part["group"] for part in (first, resumed, second)} == {"my_sweep"}
    assert {part["job_type"] for part in (first, resumed, second)} == {"train"}
    assert first["id"] == resumed["id"] != second["id"]


def test_all_parts_of_a_sweep_arrive_in_their_order_by_wandbs_command(server: WandbServer, sweep: Path) -> None:
    run = RunDirectory(sweep / "000")
    told = sync_notice(run, "W&B is offline")
    assert told == f"W&B is offline; upload it after the run with: wandb sync {run.path}/wandb"
    first, resumed = read_parts(run.path)
    command = [sys.executable, "-m", "wandb", "sync", *map(str, sweep.glob("*/wandb"))]
    subprocess.run(command, check=True, capture_output=True)
    job = server.runs[first["id"]]
    assert [row["trainer/global_step"] for row in job.history if "train/loss" in row] == [1, 2, 3, 4]
    assert [row["_step"] for row in job.history] == list(range(len(job.history)))
    assert job.exit_code == 0 and job.fields["jobType"] == "train" and job.fields["groupName"] == "my_sweep"
    assert len(server.runs) == 2
    model = server.artifact(f"default-fr-en:{resumed['id']}")
    assert model.made_by == resumed["id"]
    shipped = (run.path / "export/safetensors/model.safetensors").read_bytes()
    assert server.files[f"{model.id}/model.safetensors"] == shipped
    assert sync_notice(run, "W&B is offline") == ""
