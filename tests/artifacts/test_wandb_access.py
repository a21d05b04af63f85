"""Models by name, from a server on this machine."""

import base64
import dataclasses
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from seq2seq.artifacts import wandb_access
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.artifacts.wandb_access import has_credentials, local_model, pinned
from seq2seq.artifacts.wandb_questions import answer, is_model_file
from seq2seq.config import RunConfig
from seq2seq.errors import CheckpointError
from seq2seq.export.export import export
from seq2seq.training.composed import config_of_models
from tests.training.wandb_server import Artifact, WandbServer, answered_here, wandb_server

NAME = "wandb:ann/seq2seq/demo:latest"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WandbServer]:
    """A server with credentials for it, and nothing in the cache."""
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        monkeypatch.setenv("WANDB_MODE", "offline")  # is about runs
        monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        yield server


@pytest.fixture
def asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    answered_here(monkeypatch)


@pytest.fixture(scope="module")
def model(random_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory."""
    output = tmp_path_factory.mktemp("exported") / "model"
    return export(random_run, formats=("safetensors",), output=output)


def put(server: WandbServer, folder: Path, **changes: object) -> Artifact:
    """Let the server have the files of a folder as the next version of `demo`."""
    version = sum(each.name == "demo" for each in server.artifacts)
    artifact = Artifact("demo", "model", f"digest{version}", version, ["latest"], {}, is_committed=True)
    contents = {}
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        name, content = file.relative_to(folder).as_posix(), file.read_bytes()
        digest = base64.b64encode(hashlib.md5(content).digest()).decode()
        contents[name] = {"digest": digest, "size": len(content)}
        server.files[f"{artifact.id}/{name}"] = content
    artifact.manifest = {
        "version": 1,
        "storagePolicy": "wandb-storage-policy-v1",
        "storagePolicyConfig": {"storageLayout": "V2"},
        "contents": contents | changes,
    }
    server.files[f"manifest/{artifact.id}"] = json.dumps(artifact.manifest).encode()
    server.artifacts.append(artifact)
    return artifact


def test_a_model_is_downloaded_once_and_translates(
    server: WandbServer, model: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(server, model)
    told: list[str] = []
    ask = wandb_access._ask
    request.getfixturevalue("asked_here")
    with monkeypatch.context() as patch:  # a process answers once
        answered = wandb_access._ask
        patch.setattr(
            wandb_access, "_ask", lambda *words, **limit: (ask if words[0] == "fetch" else answered)(*words, **limit)
        )
        folder = local_model(NAME, told.append)
    host = server.url.removeprefix("http://").replace(":", "_")
    assert folder == tmp_path / "cache/wandb" / host / "ann/seq2seq/demo/v0"
    assert len(told) == 1 and re.fullmatch(
        rf"downloaded wandb:ann/seq2seq/demo:v0 \(.* MB, .* s\) to {folder}", told[0]
    )
    assert TrainedModel.read(folder).saved.weights.keys() == TrainedModel.read(model).saved.weights.keys()
    n_files = len(server.files)
    server.files = {name: content for name, content in server.files.items() if not name.startswith("demo:v0/")}
    assert len(server.files) < n_files
    assert pinned(NAME, told.append) == "wandb:ann/seq2seq/demo:v0"  # asks again which one is the latest
    assert told[1:] == [f"wandb:ann/seq2seq/demo:v0 is in the cache: {folder}"]
    n_requests = server.n_requests
    assert local_model("wandb:ann/seq2seq/demo:v0", told.append) == folder  # this is known already
    assert (server.n_requests, len(told)) == (n_requests, 2)

    put(server, model)
    import seq2seq

    assert folder.parent / "v1" == local_model("wandb:seq2seq/demo:latest")  # without an owner: the user's
    composed = OmegaConf.create(dataclasses.asdict(RunConfig()) | {"finetune": NAME, "run_dir": "x"})
    composed.data.max_sentence_tokens, composed.trainer.max_steps = 8, 1  # which this model takes
    assert config_of_models(composed, []).finetune == "wandb:ann/seq2seq/demo:v1"  # another may be the latest soon
    ours, theirs = seq2seq.load("wandb:ann/seq2seq/demo:v1"), seq2seq.load(model)
    assert ours.translate(["Un."])[0].text == theirs.translate(["Un."])[0].text


def test_what_is_no_whole_model_is_refused(server: WandbServer, model: Path, tmp_path: Path, asked_here: None) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(model, damaged)
    with (damaged / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    put(server, damaged)
    problem = r"^wandb:ann/seq2seq/demo:v0: what was uploaded there is not whole: model.safetensors: differs from its"
    with pytest.raises(CheckpointError, match=problem):
        local_model(NAME)
    (damaged / "config.json").write_text("{}")
    put(server, damaged)
    with pytest.raises(CheckpointError, match=r"^wandb:ann/seq2seq/demo:v1: holds no model directory of seq2seq; name"):
        local_model(NAME)
    (damaged / "last.ckpt").write_text("a checkpoint")
    put(server, damaged)
    with pytest.raises(
        CheckpointError, match=r"v2: has 'last.ckpt', which is no file of a model directory, so nothing"
    ):
        local_model(NAME)
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file() and file.suffix != ".lock"]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"../../evil": {"digest": "x", "size": 1}}, "../../evil"),
        ({"config.json": {"digest": "x", "size": 1, "ref": "file:///etc/passwd"}}, "config.json"),
    ],
)
def test_nothing_comes_from_or_goes_to_another_place(
    server: WandbServer, model: Path, tmp_path: Path, changes: dict[str, object], detail: str
) -> None:
    put(server, model, **changes)
    folder = tmp_path / "folder"
    assert answer("fetch", "ann/seq2seq/demo:v0", str(folder)) == {"error": "other files", "detail": detail}
    assert not folder.exists()


def test_a_question_does_not_depend_on_the_service_of_a_run(
    server: WandbServer, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    wandb.teardown()
    wandb.setup()  # tells every process that starts here of its service
    service = os.environ["WANDB_SERVICE"]
    wandb.teardown()
    monkeypatch.setenv("WANDB_SERVICE", service)  # which answers nobody now
    put(server, model)
    assert local_model(NAME).name == "v0"


def test_other_artifacts_and_unknown_names_are_told(server: WandbServer, model: Path, asked_here: None) -> None:
    put(server, model).type = "corpus"
    assert answer("resolve", "ann/seq2seq/demo:v0") == {"error": "other type", "detail": "corpus"}
    with pytest.raises(CheckpointError, match=r"^wandb:ann/seq2seq/demo:v7: .* has no such artifact, or you may not"):
        local_model("wandb:ann/seq2seq/demo:v7")
    with pytest.raises(CheckpointError, match=r"^wandb:ann/seq2seq/demo:v0: is an artifact of type corpus, not a mod"):
        local_model("wandb:ann/seq2seq/demo:v0")


def test_a_server_that_refuses_the_credentials_is_told(server: WandbServer, asked_here: None) -> None:
    server.status = 401
    with pytest.raises(CheckpointError, match=rf"{server.url} refuses the credentials \("):
        local_model(NAME)


class Clock:
    """Time in which a question that is never answered is asked. It passes only when somebody waits.

    A download has more bytes after each of the first waits.
    """

    def __init__(self, folder: Path, n_writes: int) -> None:
        self.now, self.folder, self.n_writes = 0.0, folder, n_writes

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.n_writes:
            self.n_writes -= 1
            with (self.folder / "file").open("a") as file:
                file.write("more")


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list["subprocess.Popen[bytes]"]:
    """Who is asked never answers: the processes that should have."""
    asked: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def popen(words: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        asked.append(start(["sleep", "600"], **options))
        return asked[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://wandb.example.org")
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path / "cache"))
    return asked


def test_a_server_that_hangs_is_told_and_nobody_waits_on(
    silent: list["subprocess.Popen[bytes]"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(tmp_path, 0)
    monkeypatch.setattr(wandb_access, "time", clock)
    with pytest.raises(CheckpointError, match=rf"^{NAME}: http://wandb.example.org did not answer in time; "):
        local_model(NAME)
    assert wandb_access.ANSWER_TIMEOUT_S < clock.now < wandb_access.ANSWER_TIMEOUT_S + 1
    assert [process.returncode for process in silent] == [-signal.SIGKILL]


def test_a_download_is_waited_for_as_long_as_more_comes(
    silent: list["subprocess.Popen[bytes]"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(tmp_path, n_writes=1000)
    monkeypatch.setattr(wandb_access, "time", clock)
    found = wandb_access._ask("fetch", "ann/seq2seq/demo:v0", str(tmp_path), timeout_s=7.0)
    assert found == {"error": "timeout"}
    assert clock.now == pytest.approx(1000 * wandb_access._POLL_S + 7, abs=0.2)


def test_a_download_that_stops_in_the_middle_is_told_and_is_in_nobodys_way(
    server: WandbServer, model: Path, tmp_path: Path, asked_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(server, model)
    answered = wandb_access._ask

    def stalls(question: str, *words: str, timeout_s: float) -> dict[str, Any]:
        if question == "fetch":
            Path(words[1], "config.json").write_text("{")
            return {"error": "timeout"}
        return answered(question, *words, timeout_s=timeout_s)

    with monkeypatch.context() as patch:
        patch.setattr(wandb_access, "_ask", stalls)
        with pytest.raises(CheckpointError, match=r"nothing more came from 127.0.0.1:[0-9]+ for 60 seconds"):
            local_model(NAME)
    assert not [*(tmp_path / "cache").rglob("v0")]
    assert local_model(NAME).name == "v0"


def test_without_credentials_nobody_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NETRC", raising=False)
    assert not has_credentials()
    remedy = "needs credentials of W&B for wandb.example.org; run wandb login, or set WANDB_API_KEY"
    with pytest.raises(CheckpointError, match=f"^{NAME}: {remedy}$"):
        local_model(NAME)


@pytest.mark.parametrize("name", ["wandb:demo", "wandb:demo:v1", "wandb:a/b/c/d:v1", "wandb:a/../c:v1", "wandb:a/b:"])
def test_other_forms_of_a_name_are_refused(name: str) -> None:
    with pytest.raises(CheckpointError, match="write wandb:ENTITY/PROJECT/NAME:ALIAS, such as wandb:ann/demo/m:v3"):
        TrainedModel.read(name)


def test_a_cache_that_cannot_be_written_is_told(
    server: WandbServer, model: Path, tmp_path: Path, asked_here: None
) -> None:
    put(server, model)
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(CheckpointError, match=r"cannot be kept at .*; make room, or set SEQ2SEQ_CACHE to another"):
        local_model(NAME)


def test_only_files_of_a_model_directory_are_downloaded() -> None:
    assert all(map(is_model_file, ["config.json", "model.safetensors", "ctranslate2/model.bin", "SHA256SUMS"]))
    wrong = ["ctranslate2", "ctranslate2/../a", "ctranslate2/.a", "ctranslate2/a/b", "/config.json", "x/config.json"]
    assert not any(map(is_model_file, [*wrong, "last.ckpt", "../config.json", "ctranslate2/", ""]))
