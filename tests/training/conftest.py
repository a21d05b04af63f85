import os

import pytest

from tests.training.tiny_runs import write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A small corpus with the cache of what is prepared from it."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """No machine fails in these tests, and a run writes some fifty files."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
