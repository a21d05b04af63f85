"""The command line with a random and with a trained model."""

from pathlib import Path

import pytest

from seq2seq.translation import pool, work
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
def confirmed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is a batch, and its translation is brought to disk at once. Two batches are always ahead."""
    monkeypatch.setattr(work, "CONFIRM_EVERY_S", -1.0)
    monkeypatch.setattr(pool, "FULL_BATCHES", 1e-9)
