"""Where the project is, where corpora may lie beside it, and what all processes of a test run share."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that all processes of this test run share. The first that asks makes it; nobody may change it."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    is_made = shared / f"{name}.made"
    with FileLock(shared / f"{name}.lock"):
        if not is_made.exists():
            make(shared / name)
            is_made.touch()
    return shared / name
