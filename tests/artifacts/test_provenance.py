import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from seq2seq.artifacts import provenance as module
from seq2seq.artifacts.provenance import code_version, cpu_model, provenance, this_start

REPORT = {
    "splits": {"train": {"files": {"a.fr": "11", "a.en": "12"}}, "valid": {"files": {"v.tsv": "21"}}},
    "tokenizer": {"fingerprint": "31"},
}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is busy, git takes its time."""
    monkeypatch.setattr(module, "_GIT_TIMEOUT_S", 60.0)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(["git", *identity, "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "checkout"
    for name in ("seq2seq/code.py", "conf/train.yaml", "notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1\n")
    git(tmp_path, "init", "--quiet", "checkout")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    return folder


def test_the_commit_and_changes_of_the_code_are_noted(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert code_version(checkout) == {"commit": commit, "is_dirty": False}
    (checkout / "notes.txt").write_text("not code\n")
    assert not code_version(checkout)["is_dirty"]
    (checkout / "conf/new.yaml").write_text("not known to git\n")
    assert code_version(checkout) == {"commit": commit, "is_dirty": True}


def test_code_that_is_no_checkout_has_no_commit(checkout: Path, tmp_path: Path) -> None:
    assert code_version(tmp_path) == {}
    inside = checkout / "venv/lib/site-packages"  # in a repository of somebody else
    inside.mkdir(parents=True)
    assert code_version(inside) == {}
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    assert code_version(tmp_path) == {}


def test_git_cannot_fail_or_hold_up_a_run(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as in a hook of git
    assert code_version(checkout)["commit"] == git(Path(), f"--git-dir={checkout}/.git", "rev-parse", "HEAD")
    monkeypatch.setattr(module, "_GIT_TIMEOUT_S", 0.2)
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\necho 123abc\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    assert code_version(checkout) == {}
    monkeypatch.setenv("PATH", "/nowhere")  # no git at all
    assert code_version(checkout) == {}


def test_a_start_says_what_ran_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "0123456789abcdef")
    start = this_start(["train.py", "name=0123456789abcdef"], ["A GPU"])
    assert start["command"] == ["python", "train.py", "name=***"]
    assert start["packages"]["torch"] == version("torch") and start["packages"]["wandb"] == version("wandb")
    machine = start["machine"]
    assert machine["gpus"] == ["A GPU"] and machine["cpu"] == cpu_model() != ""
    assert 1 <= machine["cores"] <= (os.cpu_count() or 1)
    assert machine["memory_bytes"] > 100 << 20
    text = json.dumps(start)
    assert os.uname().nodename not in text or len(os.uname().nodename) < 4
    assert "0123456789abcdef" not in text


@pytest.mark.parametrize(
    ("program", "typed"),
    [
        ("train.py", ["python", "train.py"]),
        ("__main__.py", ["python", "-m", "seq2seq", "train"]),
        ("seq2seq", ["seq2seq", "train"]),
    ],
)
def test_the_command_is_noted_as_one_types_it(program: str, typed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "seq2seq")  # of `python -m seq2seq`
    assert this_start([program, "seed=1"], [])["command"] == [*typed, "seed=1"]


def test_the_model_of_a_cpu_is_read_where_linux_has_it(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Quick 3000\nmodel name\t: Quick 3000\n")
    assert cpu_model(tmp_path / "cpuinfo") == "Quick 3000"
    assert cpu_model(tmp_path / "nothing")


def test_each_start_is_appended() -> None:
    first = provenance({}, {"time": "1"}, REPORT)
    assert first == {
        "starts": [{"time": "1"}],
        "corpus": {"train": ["11", "12"], "valid": ["21"]},
        "tokenizer": "31",
        "data_report": REPORT,
    }
    assert provenance(first, {"time": "2"}, REPORT)["starts"] == [{"time": "1"}, {"time": "2"}]
