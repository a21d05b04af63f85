"""What runs recorded offline arrives at a server on this machine, in its order and once."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seq2seq.artifacts import wandb_sync as module
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.wandb_sync import is_synced, sync, sync_notice
from seq2seq.cli import main
from seq2seq.errors import RunError
from tests.places import ROOT, made_once
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


def upload_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Give W&B what is below this folder alone, and take the rest for uploaded; all parts so far, in their order."""
    uploaded: list[Path] = []
    upload = module._sync_part

    def upload_some(part: Path, timeout_s: float) -> str:
        uploaded.append(part)
        if part.is_relative_to(folder):
            return upload(part, timeout_s)
        (part / "run-x.wandb.synced").touch()
        return ""

    monkeypatch.setattr(module, "_sync_part", upload_some)
    return uploaded


def test_a_sweep_is_one_group_of_one_run_a_job(sweep: Path) -> None:
    first, resumed = read_parts(sweep / "000")
    (second,) = read_parts(sweep / "001")
    assert {part["group"] for part in (first, resumed, second)} == {"my_sweep"}
    assert {part["job_type"] for part in (first, resumed, second)} == {"train"}
    assert first["id"] == resumed["id"] != second["id"]


def test_all_parts_arrive_in_their_order_and_once(
    server: WandbServer, sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_only(sweep / "000", monkeypatch)
    main(["wandb", "sync", str(sweep)])
    first, resumed = read_parts(sweep / "000")
    job = server.runs[first["id"]]
    assert [row["trainer/global_step"] for row in job.history if "train/loss" in row] == [1, 2, 3, 4]
    assert [row["_step"] for row in job.history] == list(range(len(job.history)))
    assert job.exit_code == 0 and job.fields["jobType"] == "train" and job.fields["groupName"] == "my_sweep"
    assert len(server.runs) == 1
    model = server.artifact(f"default-fr-en:{resumed['id']}")
    assert model.made_by == resumed["id"]
    shipped = (sweep / "000/export/safetensors/model.safetensors").read_bytes()
    assert server.files[f"{model.id}/model.safetensors"] == shipped
    told = capsys.readouterr().err
    assert len(re.findall(r"^\d/3 synced: ", told, re.MULTILINE)) == 3

    n_requests = server.n_requests
    sync([sweep])
    assert "synced before: 3 of 3 parts" in capsys.readouterr().err
    assert server.n_requests == n_requests
    assert sync_notice([sweep], "offline") == ""


def test_a_part_that_fails_holds_back_those_after_it(
    server: WandbServer, sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = RunDirectory(sweep / "000").offline_wandb_parts()
    next(early.glob("*.wandb")).write_bytes(b"no record")
    uploaded = upload_only(early, monkeypatch)
    monkeypatch.setattr(module, "check_access", lambda doing: None)
    with pytest.raises(RunError) as raised:
        sync([sweep / "000", sweep / "001"])
    assert str(raised.value).startswith(f"{early}: ERROR ")
    assert "\n2 of 3 parts are not synced, later parts of these runs included; repair the cause" in str(raised.value)
    assert uploaded == [early, *RunDirectory(sweep / "001").offline_wandb_parts()]
    assert not is_synced(early) and not is_synced(late)
    assert f"not synced: {early}" in capsys.readouterr().err
    (early / "run-x.wandb.synced").touch()
    sync([sweep / "000"])
    assert uploaded[2:] == [late]


def test_a_run_at_work_is_synced_when_it_has_ended(
    server: WandbServer, sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W&B would mark the part as uploaded, and what comes later would stay here."""
    (part,) = RunDirectory(sweep / "001").offline_wandb_parts()
    uploaded = upload_only(tmp_path / "nothing", monkeypatch)
    monkeypatch.setattr(module, "check_access", lambda doing: None)
    script = tmp_path / "works.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom seq2seq.artifacts.lease import leased\n"
        "with leased(Path(sys.argv[1])):\n    print('at work', flush=True)\n    sys.stdin.read()\n"
    )
    lease = RunDirectory(sweep / "001").lease_file
    with subprocess.Popen(
        [sys.executable, script, lease], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}
    ) as run:
        assert run.stdout and run.stdout.readline() == b"at work\n"
        with pytest.raises(RunError, match=rf"^{part}: its run is still at work\n1 of 3 parts are not synced"):
            sync([sweep / "000", sweep / "001"])
    assert uploaded == RunDirectory(sweep / "000").offline_wandb_parts()
    sync([sweep / "001"])
    assert uploaded[2:] == [part]


def test_a_server_that_stops_answering_is_told_in_time(
    server: WandbServer, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.stalls_at = "/file_stream"
    monkeypatch.setattr(module, "check_access", lambda doing: None)
    with pytest.raises(RunError, match=r"took longer than 1 seconds; a larger --timeout allows more\n1 of 1 parts"):
        sync([sweep / "001"], timeout_s=0.6)


def test_without_credentials_or_parts_it_is_one_sentence(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["wandb", "sync", str(sweep)])
    assert ended.value.code == 2
    remedy = "run wandb login, or set WANDB_API_KEY"
    assert re.fullmatch(
        f"error: wandb sync needs credentials of W&B for api[.a-z]+; {remedy}\n", capsys.readouterr().err
    )
    with pytest.raises(RunError, match=f"^{tmp_path}/none: holds nothing that W&B recorded offline; name"):
        sync([sweep, tmp_path / "none"])


def test_what_is_left_to_sync_is_named_in_the_order_of_its_starts(sweep: Path) -> None:
    early, late = RunDirectory(sweep / "000").offline_wandb_parts()
    assert sync_notice([sweep / "000"], "W&B is offline") == (
        f"W&B is offline; upload {early.name}, {late.name} later with: python -m seq2seq wandb sync {sweep}/000"
    )
    (early / "run-x.wandb.synced").touch()
    assert sync_notice([sweep / "000"], "x").startswith(f"x; upload {late.name} later")
    all_parts = sync_notice([sweep], "x")
    assert all_parts.count("offline-run-") == 2
