"""The command line with a random and with a trained model."""

from pathlib import Path

import pytest

from seq2seq.translation import run
from tests.translating import Cli


@pytest.fixture(scope="session")
def run_dir(random_run: Path) -> Path:
    return random_run


@pytest.fixture(scope="session")
def cli(random_run: Path) -> Cli:
    return Cli(random_run)


@pytest.fixture(scope="session")
def trained(trained_run: Path) -> Cli:
    return Cli(trained_run)


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of three lines, each brought to disk at once."""
    monkeypatch.setattr(run, "CONFIRM_EVERY_S", -1.0)
    monkeypatch.setattr(run, "WINDOWS", (3,))
