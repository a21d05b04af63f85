"""What examples/Dockerfile installs and starts: in an environment of its own, and in a container where docker is."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.processes import LIMIT_S
from tests.serving import Server
from tests.translating import run_cli

pytestmark = pytest.mark.nightly

TEXT = "Ba bi.\nBA BI BO DA FO FU DA BI.\n\nBa bi. Fo fu da.\n"
IMAGE = "seq2seq-of-a-test"


def done(*words: object, cwd: Path = ROOT, stdin: str = "") -> str:
    """What a command writes to stdout."""
    command = [str(word) for word in words]
    ended = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=10 * LIMIT_S)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what an image is built of, and with nothing else."""
    folder = tmp_path_factory.mktemp("context")
    for name in re.findall(r"^!(\S+)$", (ROOT / "examples/Dockerfile.dockerignore").read_text(), re.MULTILINE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def python(context: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the command of the Dockerfile has been done."""
    environment = tmp_path_factory.mktemp("environment")
    done(sys.executable, "-m", "venv", environment)
    python = environment / "bin/python"
    index = subprocess.run(
        [python, "-m", "pip", "download", "--no-deps", "--dest", environment, "argcomplete"], capture_output=True
    )
    if index.returncode:
        pytest.skip("pip reaches no index of packages here")
    (command,) = re.findall(r"/venv/bin/python (-m pip install .*)", (ROOT / "examples/Dockerfile").read_text())
    done(python, *shlex.split(command), cwd=context)
    return python


@pytest.fixture(scope="module")
def expected(exported_model: Path) -> str:
    status, out, _ = run_cli("--model", exported_model, "--device", "cpu", stdin=TEXT)
    assert status == 0
    return out


def test_a_small_installation_translates_as_a_whole_one_does(
    python: Path, exported_model: Path, expected: str, tmp_path: Path
) -> None:
    done(python, "-m", "pip", "check")
    megabytes = sum(file.stat().st_size for file in python.parents[1].rglob("*") if not file.is_symlink()) / 1e6
    assert megabytes < 350, "torch alone would be more"
    command = [python.with_name("seq2seq"), "translate", "--model", exported_model]
    assert done(*command, cwd=tmp_path, stdin=TEXT) == expected
    code = "import seq2seq, sys; print(seq2seq.load(sys.argv[1]).translate([sys.argv[2]])[0].text)"
    last = TEXT.splitlines()[-1]
    assert done(python, "-c", code, exported_model, last, cwd=tmp_path) == expected.splitlines()[-1] + "\n"


def test_a_small_installation_serves(python: Path, exported_model: Path, expected: str) -> None:
    server = Server("examples/serve.py", exported_model, python=python)
    assert server.translate(TEXT) == (200, expected)
    server.end()


@pytest.fixture(scope="module")
def docker() -> Iterator[None]:
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no docker daemon answers here")
    done("docker", "build", "--file", "examples/Dockerfile", "--tag", IMAGE, ".")
    yield
    done("docker", "image", "rm", IMAGE)


def test_a_container_serves_and_translates_as_a_user_without_rights(
    docker: None, exported_model: Path, expected: str
) -> None:
    run = ["docker", "run", "--rm", "--volume", f"{exported_model}:/model:ro"]
    assert done(*run, "--interactive", IMAGE, "seq2seq", "translate", "--model", "/model", stdin=TEXT) == expected
    assert done(*run, IMAGE, "id", "-u") == "10001\n"
    name = done(*run, "--detach", "--publish", "127.0.0.1::8000", IMAGE).strip()
    try:
        port = int(done("docker", "port", name, "8000").split(":")[-1])
        assert answer(port, name) == {"translation": expected}
    finally:
        done("docker", "stop", "--time", LIMIT_S, name)


def answer(port: int, name: str) -> object:
    """That of a server, once it listens."""
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        try:
            connection.request("POST", "/translate", json.dumps({"text": TEXT}))
            return json.loads(connection.getresponse().read())
        except OSError:  # docker's proxy is there before the server
            done("docker", "top", name)  # fails if it has ended
        finally:
            connection.close()
