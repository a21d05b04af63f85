"""Tests of several minutes: `make cluster` runs them."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.slurm import Slurm, slurm, why_not

if "CLUSTER" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Slurm]:
    if reason := why_not():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, slurm(Path(folder)) as found:
        yield found
