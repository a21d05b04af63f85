"""The command line with a random and with a trained model."""

from pathlib import Path

import pytest

from tests.commands.learned_text import LEARNED
from tests.translating import Cli, model_content, trained_content, write_run


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), model_content())


@pytest.fixture(scope="module")
def cli(run_dir: Path) -> Cli:
    """With a random model."""
    return Cli(run_dir)


@pytest.fixture(scope="module")
def trained_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("trained"), trained_content())


@pytest.fixture(scope="module")
def trained(trained_dir: Path) -> Cli:
    return Cli(trained_dir)


@pytest.fixture(scope="module")
def translations(trained: Cli) -> list[str]:
    return trained.lines(LEARNED)
