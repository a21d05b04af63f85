"""Plain and compressed files as streams of bytes; a compressed file that ends early is an error.

A compressed file is a sequence of members (zstd calls them frames, xz streams), and its text is the sequence of their
texts. So a file can grow by whole members, and can be read after each of them.
"""

import bz2
import gzip
import io
import lzma
import re
import sys
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

# The first bytes of compressed data. No UTF-8 text begins like the first three. A text could begin as bzip2 data do,
# but hardly any does: after `BZh9` comes the mark of the first block, or of the end.
_MAGIC = (
    (".gz", re.compile(rb"\x1f\x8b")),
    (".xz", re.compile(rb"\xfd7zXZ\x00")),
    (".zst", re.compile(rb"\x28\xb5\x2f\xfd")),
    (".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")),
)

# What the decompressors raise for damaged or incomplete input. A disk that fails raises other OSErrors.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstd.ZstdError)


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed as its suffix says (`.gz`, `.xz`, `.bz2`, `.zst`).

    A file with another suffix is decompressed if it begins as compressed data do.

    Raises:
        OSError: the file cannot be opened. When compressed data are damaged or incomplete, reading raises one of
            `DAMAGE`, or for bz2 an OSError without errno.
    """
    file = path.open("rb")
    try:
        if path.suffix in (".gz", ".xz", ".bz2", ".zst"):
            return _decompressing(file, path.suffix, closes=True)
        return decompressed(file, closes=True)
    except BaseException:
        file.close()
        raise


def decompressed(stream: BinaryIO, *, closes: bool = False) -> BinaryIO:
    """What `stream` gives, decompressed if its first bytes are those of compressed data.

    It waits for the first bytes of `stream`, and for no more of them than one read gives.

    Args:
        closes: if the result is closed, close `stream` too.
    """
    buffered: Any = stream if hasattr(stream, "peek") else io.BufferedReader(cast(io.RawIOBase, stream))
    head = buffered.peek(10)
    for suffix, magic in _MAGIC:
        if magic.match(head):
            return _decompressing(buffered, suffix, closes=closes)
    return cast(BinaryIO, buffered)


def open_member(file: BinaryIO, suffix: str) -> BinaryIO:
    """A stream that writes one more member to `file`, compressed as the suffix says. Closing it completes the member.

    Closing it leaves `file` open. The same bytes give the same member; time and file name do not matter.
    """
    match suffix:
        case ".gz":
            return gzip.GzipFile("", "wb", fileobj=file, mtime=0)  # type: ignore[return-value]
        case ".xz":
            return lzma.LZMAFile(file, "wb")  # type: ignore[return-value]
        case ".bz2":
            return bz2.BZ2File(file, "wb")  # type: ignore[return-value]
    assert suffix == ".zst"
    # The other formats have a checksum; zstd writes one only if it is asked to.
    return zstd.ZstdFile(file, "wb", options={zstd.CompressionParameter.checksum_flag: 1})  # type: ignore[return-value]


def _decompressing(file: BinaryIO, suffix: str, *, closes: bool) -> BinaryIO:
    opened = {".gz": gzip.GzipFile, ".xz": lzma.LZMAFile, ".bz2": bz2.BZ2File, ".zst": zstd.ZstdFile}[suffix]
    stream: Any = opened(fileobj=file, mode="rb") if opened is gzip.GzipFile else opened(file)
    return io.BufferedReader(_Decompressed(stream, file if closes else None), buffer_size=1 << 17)


class _Decompressed(io.RawIOBase):
    """What a decompressor gives, as soon as it gives it: its own `read` waits until it has all that is asked for."""

    def __init__(self, stream: Any, file: BinaryIO | None) -> None:
        self._stream = stream
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data: bytes = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()  # leaves the file that it reads open
        if self._file is not None:
            self._file.close()
        super().close()
