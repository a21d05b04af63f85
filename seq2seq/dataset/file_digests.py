"""SHA-256 of files, remembered in the cache: who starts again does not read a large corpus and its stores again."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from seq2seq.corpus.hashes import file_sha256
from seq2seq.files import is_sealed, sealed, write_text

_VERSION = 1
# Some file systems store times in steps of up to two seconds. A file that is younger could change once more, in size
# and time the same.
_RESOLUTION_NS = 2_000_000_000


class FileDigests:
    """SHA-256 of files, from memory if a file is as it was when it was last read.

    CACHE/
        digests.json    {version, files: {PATH: [size, mtime_ns, ctime_ns, inode, SHA-256]}, sha256: of all this}
        digests.lock

    A file is taken for unchanged if its path, size, inode and both times are the same. The time of the last change of
    the inode counts too, since programs such as `rsync --times` set the other one back. A damaged `digests.json` counts
    as empty, and one that cannot be written stays as it is.
    """

    def __init__(self, cache_dir: Path) -> None:
        self._file = cache_dir / "digests.json"
        self._known = _read(self._file)
        self._new: dict[str, list[Any]] = {}

    def sha256(self, path: Path) -> str:
        """SHA-256 of a file's bytes, in hex.

        Raises:
            OSError: the file cannot be read.
        """
        name = str(path.absolute())
        facts = _facts(path)
        for known in (self._new, self._known):
            if name in known and known[name][:-1] == facts:
                return str(known[name][-1])
        started_ns = time.time_ns()
        digest = file_sha256(path)
        if max(facts[1], facts[2]) < started_ns - _RESOLUTION_NS:
            self._new[name] = [*facts, digest]  # those from before: a change while it was read shows next time
        return digest

    def save(self) -> None:
        """Remember what was read, beside what other processes have learned meanwhile. Files that are gone go."""
        if not self._new:
            return
        with suppress(OSError, NotImplementedError):  # a cache may be read-only, or have no locks
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self._file.with_suffix(".lock")):
                files = _read(self._file) | self._new
                files = {name: entry for name, entry in files.items() if Path(name).is_file()}
                write_text(self._file, json.dumps(sealed({"version": _VERSION, "files": files}), indent=1) + "\n")
            self._known, self._new = files, {}


def _facts(path: Path) -> list[int]:
    """What changes with the content of a file: size, times of modification and change, inode."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _read(file: Path) -> dict[str, list[Any]]:
    """The entries of `digests.json`; none if it is missing, damaged or of another version."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, Mapping) or not is_sealed(content) or content.get("version") != _VERSION:
        return {}
    return dict(content["files"])
