"""Files from an archive, and nothing else of it: no links, no devices, nothing outside the folder, nothing endless."""

import bz2
import gzip
import io
import lzma
import posixpath
import shutil
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from seq2seq.errors import CorpusError, printable

# Text shrinks to a tenth. What becomes so many times larger than its archive was made to fill a disk.
_MOST_TIMES_LARGER = 100
_ALWAYS_ALLOWED = 64 << 20  # bytes
_MOST_OF_HEADERS = 8 << 20  # bytes, which are kept in memory: those of some 16,000 files
# By the first two bytes.
_COMPRESSIONS: Mapping[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZ": bz2.open,
    b"\xfd7": lzma.open,
}
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError),
    # What `zipfile` raises for a password and for a method that it does not know; names that no file can have.
    *(RuntimeError, NotImplementedError, ValueError),
)
_File = tuple[str, int, Callable[[], Any]]  # its name, its size, and what opens it


class _Bounded(io.BufferedReader):
    """A file of which only so much may be read: an archive may claim names of gigabytes, which would go to memory."""

    left = _MOST_OF_HEADERS

    def read(self, size: int | None = -1, /) -> bytes:
        self.left -= size or 0
        if self.left < 0:
            raise tarfile.ReadError(f"its list of files takes more than {_MOST_OF_HEADERS:,} bytes")
        return super().read(size)


def unpack(archive: Path, folder: Path, wanted: Collection[str] | None = None) -> None:
    """Write files of an archive (.zip, .tar, or .tar compressed) into a folder, under their names there.

    Links and devices are left out. Of two files with one name, the last one counts.

    Args:
        wanted: names; None: all files.
    Raises:
        CorpusError: a file that is wanted and not there, or that would lie outside the folder; a damaged archive, or
            one that is too large.
    """
    n_left = archive.stat().st_size * _MOST_TIMES_LARGER + _ALWAYS_ALLOWED
    names: list[str] = []
    try:
        for name, size, content in _zipped(archive) if zipfile.is_zipfile(archive) else _tarred(archive):
            name = tarfile.data_filter(tarfile.TarInfo(name), str(folder)).name
            names.append(posixpath.normpath(name))
            if wanted is not None and names[-1] not in wanted:
                continue
            n_left -= size
            if n_left < 0:
                raise CorpusError(
                    f"{archive}: unpacks to more than {_MOST_TIMES_LARGER} times its size, which no text does; remove "
                    "it, and fetch it from a publisher that you trust"
                )
            target = folder / names[-1]
            target.parent.mkdir(parents=True, exist_ok=True)
            with content() as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
    except tarfile.FilterError as error:
        raise CorpusError(
            f"{archive}: has a file {error.tarinfo.name!r}, which would lie outside its folder; remove the "
            "archive, and fetch it from a publisher that you trust"
        ) from error
    except (*_DAMAGE, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the disk; bz2 reports invalid data without one
            raise
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
        raise CorpusError(
            f"{archive}: is no archive, or a damaged one ({reason}); remove it, and fetch it again"
        ) from error
    if missing := sorted(set(wanted or ()) - set(names)):
        raise CorpusError(
            f"{archive}: has no file {missing[0]} (there are: {printable(', '.join(names[:8])) or 'none'}); correct "
            "the entry in the catalogue, or remove the archive if the publisher has changed it"
        )


def _zipped(archive: Path) -> Iterator[_File]:
    with _Bounded(io.FileIO(archive)) as file, zipfile.ZipFile(file) as opened:
        file.left = sys.maxsize  # the list of files has been read
        for member in opened.infolist():
            if not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16):
                yield member.filename, member.file_size, partial(opened.open, member)


def _tarred(archive: Path) -> Iterator[_File]:
    with archive.open("rb") as begin:
        decompress = _COMPRESSIONS.get(begin.read(2), io.FileIO)
    with _Bounded(decompress(archive)) as file, tarfile.open(fileobj=file, mode="r:") as opened:
        while (member := opened.next()) is not None:
            if member.isreg():
                left, file.left = file.left, sys.maxsize
                yield member.name, member.size, partial(opened.extractfile, member)
                file.left = left
