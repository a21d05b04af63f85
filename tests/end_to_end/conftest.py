"""The command line with a random and with a trained model."""

from pathlib import Path

import pytest

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
