"""The command line with a random and with a trained model."""

from pathlib import Path

import pytest

from seq2seq.translation import run
from tests.translating import Cli, model_content, trained_content, write_run


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), model_content())


@pytest.fixture(scope="module")
def cli(run_dir: Path) -> Cli:
    return Cli(run_dir)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(write_run(tmp_path_factory.mktemp("trained"), trained_content()))


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of three lines, each brought to disk at once."""
    monkeypatch.setattr(run, "CONFIRM_EVERY_S", -1.0)
    monkeypatch.setattr(run, "WINDOWS", (3,))
