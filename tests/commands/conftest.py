"""The command line with a random and with a trained model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seq2seq.config import DecodingConfig
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


Batches = list[tuple[Any, int, DecodingConfig]]
Watch = Callable[[Any], Batches]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Of each batch that a class of engines is going to translate: the engine, how many sentences, the settings."""

    def watch(engine: Any) -> Batches:
        batches: Batches = []
        decode = engine.decode

        def noted(self: Any, sentences: Any, config: DecodingConfig, **more: Any) -> Any:
            batches.append((self, len(sentences), config))
            return decode(self, sentences, config, **more)

        monkeypatch.setattr(engine, "decode", noted)
        return batches

    return watch
