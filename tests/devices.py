"""Devices and disks that tests write to."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

needs_devices = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def device(folder: Path, name: str) -> Path:
    """/dev/null or /dev/full. Root could replace the real one, if what is tested were broken, so root gets a copy."""
    path = Path("/dev", name)
    if os.geteuid() != 0:
        return path
    try:
        os.mknod(folder / name, 0o666 | stat.S_IFCHR, path.stat().st_rdev)
        (folder / name).write_bytes(b"")
    except OSError:
        pytest.skip("no device can be made here")
    return folder / name


def mount(*options: object) -> None:
    """Call `mount`. Where this user may not, the test is skipped."""
    if reason := _mount(*options):
        pytest.skip(f"nothing can be mounted here: {reason}")


@contextmanager
def small_disk(folder: Path, n_bytes: int) -> Iterator[Path]:
    """A file system in memory, mounted at `folder`."""
    folder.mkdir()
    mount("-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", folder)
    try:
        yield folder
    finally:
        _unmount(folder)


@cache
def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as name:
        if _mount("-t", "tmpfs", "tmpfs", name):
            return False
        _unmount(name)
        return True


def _mount(*options: object) -> str:
    """Why it did not work; empty if it did."""
    try:
        done = subprocess.run(["mount", *map(str, options)], capture_output=True, text=True)
    except FileNotFoundError:
        return "there is no command `mount`"
    return (done.stderr.strip() or "it says nothing") if done.returncode else ""


def _unmount(folder: Path | str) -> None:
    subprocess.run(["umount", "--lazy", folder], check=True)
