"""A small disk that becomes full, where this user may mount one."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, n_bytes: int) -> Iterator[Path]:
    """A file system in memory, mounted at `folder`. Without the right to mount, the test is skipped."""
    folder.mkdir()
    if reason := _mount(folder, n_bytes):
        pytest.skip(f"a small disk cannot be mounted here: {reason}")
    try:
        yield folder
    finally:
        _unmount(folder)


@cache
def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as name:
        if _mount(Path(name), 1_000_000):
            return False
        _unmount(Path(name))
        return True


def _mount(folder: Path, n_bytes: int) -> str:
    """Why it did not work; empty if it did."""
    try:
        done = _run("mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(folder))
    except FileNotFoundError:
        return "there is no command `mount`"
    return done.stderr.strip() if done.returncode else ""


def _unmount(folder: Path) -> None:
    _run("umount", "--lazy", str(folder)).check_returncode()


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True)
