"""What the tests of corpora by name share: a server, and nothing of whoever runs the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.named.server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def _a_place_without_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("SEQ2SEQ_OFFLINE", "SEQ2SEQ_SHARED_CACHE", "SEQ2SEQ_CATALOGUE", "SEQ2SEQ_CACHE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")  # where no data/NAME lies
