"""Paths that name a stream which is already open: /dev/stdin, /dev/stdout, /dev/fd/3 and the like.

To open such a path again would be wrong. It begins at the start of a file that others have written to, and cuts off
what is in it: `--output /dev/stdout >> log` would empty the log.
"""

import os
import re
from pathlib import Path

STDIN, STDOUT = Path("/dev/stdin"), Path("/dev/stdout")

_STANDARD = {STDIN: 0, STDOUT: 1, Path("/dev/stderr"): 2}
_NUMBERED = re.compile(r"/(?:dev|proc/(?:self|thread-self|(?P<process>\d+)))/fd/(?P<number>\d+)")
_MAX_LINKS = 40  # as many as Linux follows


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


def is_stream(path: Path | None) -> bool:
    """Whether what is written to `path` cannot be read again: stdout (None), an open descriptor, a device, a pipe."""
    return path is None or open_descriptor(path) is not None or (path.exists() and not path.is_file())


def source(name: str) -> Path:
    """The file that an option names; `-` is stdin."""
    return STDIN if name == "-" else Path(name)


def destination(name: str) -> Path:
    """The file that an option names; `-` is stdout."""
    return STDOUT if name == "-" else Path(name)
