"""Tests of several minutes: `make cluster` and `make nightly` run them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.slurm import Slurm, slurm, why_not
from tests.nightly import IS_NIGHTLY
from tests.training.tiny_runs import write_corpus

if not IS_NIGHTLY:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Slurm]:
    if reason := why_not():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, slurm(Path(folder)) as found:
        yield found
