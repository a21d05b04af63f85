"""The command line with a random and with a trained model."""

from pathlib import Path

import pytest

from tests.commands.learned_text import LEARNED
from tests.translating import Cli


@pytest.fixture(scope="session")
def cli(random_run: Path) -> Cli:
    """With a random model."""
    return Cli(random_run)


@pytest.fixture(scope="session")
def trained(trained_run: Path) -> Cli:
    return Cli(trained_run)


@pytest.fixture(scope="session")
def translations(trained: Cli) -> list[str]:
    return trained.lines(LEARNED)
