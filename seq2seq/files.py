"""Where the files that ship with the code are, and the one way to write: whole or not at all."""

import atexit
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from seq2seq.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent
_SEAL = "sha256"  # in a sealed JSON object: the SHA-256 of the rest
_OLD = "old"  # in an unfinished folder: the folder that it is about to replace


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


def cache_directory(chosen: str = "") -> Path:
    """Where to keep what can be made again.

    Args:
        chosen: a directory that somebody has named; empty if nobody did.
    Raises:
        ConfigError: it is in the home of this user, who has none.
    """
    path = expanded(chosen or os.environ.get("SEQ2SEQ_CACHE") or "~/.cache/seq2seq")
    if path.parts[:1] == ("~",):
        raise ConfigError(
            f"{path}: there is no home directory; name another folder for the cache, by SEQ2SEQ_CACHE or data.cache_dir"
        )
    return path.absolute()


def expanded(path: str | Path) -> Path:
    """A path in which `~` and `~name` are the home of a user; as it is if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def readable_size(n_bytes: int) -> str:
    """For people: 6.6 GB, 604 kB."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes / 1000:.0f} kB"


def regular(path: Path) -> Path:
    """`path` itself, to be read or replaced: a device, pipe or socket, also behind a link, may have no end.

    Raises:
        OSError: it is there, and no regular file.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return path


@contextmanager
def atomic_file(path: Path, *, sweeps: bool = True) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is whole and on disk. Missing folders are made.

    Until then it is beside its target, as `.NAME.*.tmp`: a rename from another file system (such as /tmp) would be a
    copy. If the block raises, or a signal does, nothing is left. What a killed process left goes with the next write of
    the same name. A link stays a link, and the file that it names is replaced.

    Args:
        sweeps: remove that first. In a folder of very many files, to look for it takes long.
    """
    path = regular(Path(os.path.realpath(path)))
    with _Unfinished(path, _make_file, sweeps=sweeps) as unfinished:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    sync_directory(path.parent)


@contextmanager
def atomic_directory(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A folder that appears under its name only when all that is in it is whole and on disk.

    The block fills the folder that it is given, which is in `.NAME.*.tmp` beside its target. As with `atomic_file`,
    nothing is left of a failure, and a link stays a link. All files get the mode that the umask gives.

    Args:
        replace: replace a folder of that name. If that fails, the old folder comes back.
    Raises:
        OSError: the folder cannot be written, or its name belongs to a folder that is not empty.
    """
    path = Path(os.path.realpath(path))
    with _Unfinished(path, _make_folder) as unfinished:
        building = unfinished / "new"
        building.mkdir()
        yield building
        for file in building.rglob("*"):
            if file.is_file() and not file.is_symlink():
                file.chmod(building.stat().st_mode & 0o666)  # as the umask says, though a library made it private
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
        if replace and path.exists():
            path.rename(unfinished / _OLD)
        building.rename(path)
    sync_directory(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all. Half a surrogate pair, as in a name that is not UTF-8, is `\\udce9`."""
    with atomic_file(path) as file:
        file.write(text.encode(errors="backslashreplace"))


def append_text(path: Path, text: str) -> None:
    """Add to a text file, or leave it as it was, such as on a full disk."""
    size = path.stat().st_size if path.exists() else 0
    try:
        with path.open("ab") as file:
            file.write(text.encode())
    except OSError:
        with suppress(OSError):
            os.truncate(path, size)
        raise


def write_json(path: Path, content: object) -> None:
    """Write a JSON file for people and programs, whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with a checksum of itself, for a file that is read back."""
    return {**content, _SEAL: _seal(content)}


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Whether a JSON object is what `sealed` gave: no value has changed since."""
    return content.get(_SEAL) == _seal(content)


def _seal(content: Mapping[str, Any]) -> str:
    plain = json.loads(json.dumps(content))  # as it will be read: a tuple is a list, and a key is a text
    plain.pop(_SEAL, None)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def sync_directory(path: Path) -> None:
    """Write the names in a folder to disk: a renamed file is safe only after that."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # as of some shared folders, which cannot do that
            raise
    finally:
        os.close(directory)


class _Unfinished:
    """The file or folder `.NAME.*.tmp` beside a target, which is removed when the block ends, however it ends.

    Its writer holds a lock on it. The system opens that lock when the process is gone, so the next writer of the same
    target can tell what a killed process left from what another process is writing now.
    """

    def __init__(self, target: Path, make: Callable[[Path], None], *, sweeps: bool = True) -> None:
        self._target = target
        self._make = make
        self._sweeps = sweeps
        # Chosen before anything exists: whenever a signal comes, the name to remove is known.
        self._path = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        self._lock: int | None = None
        self._process = os.getpid()

    def __enter__(self) -> Path:
        atexit.register(self._remove)  # a signal may end this block before `__exit__` has begun
        try:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            if self._sweeps:
                _remove_leftovers(self._target)
            while not self._path.exists():  # again if another process took it for a leftover before it was locked
                self._make(self._path)
                self._lock = _lock(self._path, wait=True)
        except BaseException:
            self.__exit__()
            raise
        return self._path

    def __exit__(self, *_: object) -> None:
        self._remove()
        atexit.unregister(self._remove)

    def _remove(self) -> None:
        """However many signals come, they only delay this."""
        if os.getpid() != self._process:  # a fork that ends
            return
        try:
            _discard(self._path, self._target)
            if self._path.exists():  # a signal while rmtree closes a folder comes out as an OSError, and is lost
                _discard(self._path, self._target)
        except BaseException:
            self._remove()
            raise
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _make_file(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def _make_folder(path: Path) -> None:
    path.mkdir(mode=0o700)


def _lock(path: Path, *, wait: bool) -> int | None:
    """Lock a file or folder until the descriptor that is returned is closed.

    Args:
        wait: for another process that has the lock.
    Returns:
        None if another process has the lock or has removed the file, or if there are no locks here.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # NFS locks no file opened for reading
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if path.stat().st_ino == os.fstat(descriptor).st_ino:  # whoever had the lock has not removed it
            return descriptor
    except OSError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _remove_leftovers(target: Path) -> None:
    """Remove what killed processes left of their attempts to write `target`."""
    form = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):  # another user's, for example
        for path in [path for path in target.parent.iterdir() if form.fullmatch(path.name)]:
            if (lock := _lock(path, wait=False)) is not None:
                _discard(path, target)
                os.close(lock)


def _discard(unfinished: Path, target: Path) -> None:
    """Remove an unfinished file or folder. An old folder in it comes back unless the new one has taken its place."""
    with suppress(OSError):
        if not unfinished.is_dir():
            unfinished.unlink()
            return
        if (unfinished / _OLD).exists() and not target.exists():
            (unfinished / _OLD).rename(target)
        shutil.rmtree(unfinished, ignore_errors=True)
