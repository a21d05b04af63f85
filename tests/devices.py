"""Devices and disks that tests write to."""

import os
import stat
import subprocess
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
    """Call `mount`, which only root may do."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root mounts")
    if subprocess.run(["mount", *map(str, options)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
