"""Where the files that ship with the code are, and the one way to write: whole or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_PACKAGE = Path(__file__).resolve().parent


def conf_dir() -> Path:
    """The Hydra configuration tree."""
    return _shipped("conf")


def bundled_corpus(name: str) -> Path:
    """Directory of a corpus that ships with the project; it may not exist."""
    return _shipped("data") / name


def _shipped(name: str) -> Path:
    """`name` beside the package in a source checkout, inside the package in an installed wheel."""
    checkout = _PACKAGE.parent
    return (checkout if (checkout / "pyproject.toml").is_file() else _PACKAGE) / name


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is whole and on disk. Missing folders are made.

    It is written beside its target, as `.NAME.*.tmp`: a rename from another file system (such as /tmp) would be a copy.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())  # mkstemp's 0600 would hide it from colleagues
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def atomic_directory(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A folder that appears under its name only when all that is in it is whole and on disk.

    The block fills the folder that it is given, a sibling called `.NAME.*.tmp`. If it raises, nothing is left behind.

    Args:
        replace: replace a folder of that name. If that fails, the old folder comes back.
    Raises:
        OSError: the folder cannot be written, or its name belongs to a folder that is not empty.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())  # mkdtemp's 0700 would hide it from colleagues
        for file in temporary.rglob("*"):
            if file.is_file():
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
        _publish(temporary, path, replace)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_file(path) as file:
        file.write(text.encode())


def write_json(path: Path, content: object) -> None:
    """Write a JSON file for people and programs, whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def sync_directory(path: Path) -> None:
    """Write the names in a folder to disk: a renamed file is safe only after that."""
    if hasattr(os, "O_DIRECTORY"):  # not on Windows
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _publish(temporary: Path, path: Path, replace: bool) -> None:
    old = temporary.with_suffix(".old")
    if replace and path.exists():
        path.rename(old)
    try:
        temporary.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
    sync_directory(path.parent)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
