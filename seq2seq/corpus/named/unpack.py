"""Files from an archive, and nothing else of it: no links, no devices, nothing outside the folder, nothing endless."""

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from gzip import BadGzipFile
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from seq2seq.errors import CorpusError

# Text shrinks to a tenth. What becomes so many times larger than its archive was made to fill a disk.
_MOST_TIMES_LARGER = 100
_ALWAYS_ALLOWED = 64 << 20  # bytes
_MOST_MEMBERS = 1_000_000
_BLOCK = 1 << 20
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, BadGzipFile, EOFError, zlib.error, LZMAError),
    *(RuntimeError, NotImplementedError),  # what zipfile raises for a password and for a method that it does not know
)


class _Room:
    """How many bytes may still come out of an archive."""

    def __init__(self, archive: Path) -> None:
        self.archive = archive
        self.left = archive.stat().st_size * _MOST_TIMES_LARGER + _ALWAYS_ALLOWED

    def copy(self, member: IO[bytes], file: IO[bytes]) -> None:
        while block := member.read(_BLOCK):
            self.left -= len(block)
            if self.left < 0:
                raise CorpusError(
                    f"{self.archive}: unpacks to more than {_MOST_TIMES_LARGER} times its size, which no text does; "
                    "remove it, and fetch it from a publisher that you trust"
                )
            file.write(block)


def unpack(archive: Path, wanted: Sequence[Sequence[str]], targets: Sequence[Path]) -> None:
    """Write members of an archive (.zip, .tar, or .tar compressed) to files.

    Args:
        wanted: for each target the members whose text it gets, one after another.
    Raises:
        CorpusError: a member that is not there or not a file, a damaged archive, or one that is too large.
    """
    with _reading(archive) as opened:
        for names, target in zip(wanted, targets, strict=True):
            with target.open("wb") as file:
                for name in names:
                    _add_member(opened, name, file)


def unpack_all(archive: Path, folder: Path) -> None:
    """Write all files of an archive into a folder. Links and devices are left out.

    Raises:
        CorpusError: a file that would lie outside the folder; a damaged archive, or one that is too large.
    """
    with _reading(archive) as opened:
        for name in opened.names:
            parts = PurePosixPath(name).parts
            if name.startswith(("/", "\\")) or ".." in parts or ":" in name or "\\" in name:
                raise CorpusError(
                    f"{archive}: has a file {name!r}, which would lie outside its folder; remove the archive, and "
                    "fetch it from a publisher that you trust"
                )
            target = folder.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                _add_member(opened, name, file)


class _Opened:
    """An archive of either kind: the names of its files, and their bytes."""

    def __init__(self, archive: Path, names: Mapping[str, zipfile.ZipInfo | tarfile.TarInfo], source: object) -> None:
        self.names = names
        self.room = _Room(archive)
        self.archive = archive
        self._source = source

    def open(self, name: str) -> IO[bytes]:
        if isinstance(self._source, zipfile.ZipFile):
            return self._source.open(self.names[name])  # type: ignore[arg-type]
        assert isinstance(self._source, tarfile.TarFile)
        member = self._source.extractfile(self.names[name])  # type: ignore[arg-type]
        assert member is not None  # `_files_of_tar` lists regular files only
        return member


def _add_member(opened: _Opened, name: str, file: IO[bytes]) -> None:
    if name not in opened.names:
        there = ", ".join(list(opened.names)[:8]) or "none"
        raise CorpusError(
            f"{opened.archive}: has no file {name} (there are: {there}); correct the entry in the catalogue, or remove "
            "the archive if the publisher has changed it"
        )
    with opened.open(name) as member:
        opened.room.copy(member, file)


@contextmanager
def _reading(archive: Path) -> Iterator[_Opened]:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                yield _Opened(archive, _files_of_zip(archive, zipped), zipped)
        else:
            with tarfile.open(archive, "r:*") as tar:
                yield _Opened(archive, _files_of_tar(archive, tar), tar)
    except _DAMAGE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
        raise CorpusError(
            f"{archive}: is no archive, or a damaged one ({reason}); remove it with `python -m seq2seq corpus rm`, and "
            "fetch it again"
        ) from error


def _files_of_zip(archive: Path, zipped: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members = zipped.infolist()
    _check_number(archive, len(members))
    return {
        member.filename: member
        for member in members
        if not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16)
    }


def _files_of_tar(archive: Path, tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    found: dict[str, tarfile.TarInfo] = {}
    for number, member in enumerate(tar, start=1):
        _check_number(archive, number)
        if member.isreg():
            found[member.name.removeprefix("./")] = member
    return found


def _check_number(archive: Path, n_members: int) -> None:
    if n_members > _MOST_MEMBERS:
        raise CorpusError(f"{archive}: has more than {_MOST_MEMBERS:,} members, which no corpus has; remove it")
