"""Streams: stdout, devices, pipes, and paths that name what is already open, such as /dev/stdin and /dev/fd/3.

To open such a path again would be wrong. It begins at the start of a file that others have
written to, and cuts off what is in it: `--output /dev/stdout >> log` would empty the log.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from seq2seq.errors import TranslationError
from seq2seq.exit_status import stdin

STDIN, STDOUT = Path("/dev/stdin"), Path("/dev/stdout")

_STANDARD = {STDIN: 0, STDOUT: 1, Path("/dev/stderr"): 2}
_NUMBERED = re.compile(r"/(?:dev|proc/(?:self|thread-self|(?P<process>\d+)))/fd/(?P<number>\d+)")
_MAX_LINKS = 40  # as many as Linux follows


def source(name: str) -> Path:
    """The file that an option names; `-` is stdin."""
    return STDIN if name == "-" else Path(name)


def destination(name: str) -> Path:
    """The file that an option names; `-` is stdout."""
    return STDOUT if name == "-" else Path(name)


def open_descriptor(path: Path | None) -> int | None:
    """The number of the open file that `path` names, also through symbolic links; None if it names none of ours."""
    for _ in range(_MAX_LINKS if path is not None else 0):
        assert path is not None
        if path in _STANDARD:
            return _STANDARD[path]
        name = Path(os.path.abspath(path))  # noqa: PTH100 (resolve() would follow the links, which say what it is)
        if match := _NUMBERED.fullmatch(name.as_posix()):
            return int(match["number"]) if match["process"] in (None, str(os.getpid())) else None
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def to_read(path: Path) -> Path | BinaryIO:
    """What `read_lines` takes for a path: stdin as the stream that it is, since a path would open it anew."""
    return stdin() if open_descriptor(path) == 0 else path


def is_stream(path: Path | None) -> bool:
    """Whether what is written to `path` cannot be read again: stdout (None), an open descriptor, a device, a pipe."""
    return path is None or open_descriptor(path) is not None or (path.exists() and not path.is_file())


@contextmanager
def open_stream(path: Path | None) -> Iterator[BinaryIO]:
    """What is written to goes to its reader when it is flushed, and at the end of the block; nothing is compressed.

    Args:
        path: None for stdout.
    Raises:
        TranslationError: it cannot be opened. Use `reporting` around what is written.
    """
    descriptor = 1 if path is None else open_descriptor(path)
    if path is None or descriptor == 1:
        yield sys.stdout.buffer
        with reporting(path):
            sys.stdout.buffer.flush()
        return
    with reporting(path):  # a copy of the descriptor keeps its place in the file
        stream = path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")
    try:
        yield stream
        with reporting(path):
            stream.flush()
    finally:
        with suppress(OSError):  # from a second attempt to flush
            stream.close()


@contextmanager
def reporting(path: Path | None) -> Iterator[None]:
    """Turn an OSError into a TranslationError, except of a closed pipe, whose reader may stop at any time."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TranslationError(f"cannot write {path or 'stdout'}: {error.strerror or error}") from error
