"""Plain and compressed files as streams of bytes; a compressed file that ends early is an error.

A compressed file is one or more members (zstd calls them frames, xz streams), one after the other, and its text is
theirs one after the other. So a file can grow by whole members, and is readable after each.
"""

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

# What the decompressors raise for damaged or cut-off input; a failing disk raises other OSErrors.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def open_binary(path: Path) -> BinaryIO:
    """Open for reading, decompressing by the file's suffix (`.gz`, `.xz`, `.bz2`, `.zst`).

    Raises:
        OSError: the file cannot be opened. Reading raises one of `DAMAGE`, or for bz2 an OSError without
            errno, when the compressed data are damaged or cut off.
    """
    match path.suffix:
        case ".gz":
            return gzip.open(path, "rb")  # type: ignore[return-value]
        case ".xz":
            return lzma.open(path, "rb")  # type: ignore[return-value]
        case ".bz2":
            return bz2.open(path, "rb")  # type: ignore[return-value]
        case ".zst":
            return io.BufferedReader(_ZstdStream(path), buffer_size=1 << 20)
    return path.open("rb")


def open_member(file: BinaryIO, suffix: str) -> BinaryIO:
    """A stream whose bytes arrive in `file` as one more member, compressed as the suffix says, whole once it is closed.

    Closing it leaves `file` open. The same bytes give the same member, whatever the time and the name of the file.
    """
    match suffix:
        case ".gz":
            return gzip.GzipFile("", "wb", fileobj=file, mtime=0)  # type: ignore[return-value]
        case ".xz":
            return lzma.LZMAFile(file, "wb")  # type: ignore[return-value]
        case ".bz2":
            return bz2.BZ2File(file, "wb")  # type: ignore[return-value]
    assert suffix == ".zst"
    # With a checksum, as the others have; zstandard leaves it out unless asked.
    return zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)


class _ZstdStream(io.RawIOBase):
    """Zstandard frames as one stream; `zstandard.stream_reader` takes a cut-off file for a whole one."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._frame: Any = None  # the decompressor of the frame being read, None between frames
        self._waiting = b""  # compressed bytes after the end of a frame
        self._ready = memoryview(b"")  # decompressed bytes not yet handed out

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            compressed = self._waiting or self._file.read(1 << 17)
            self._waiting = b""
            if not compressed:
                if self._frame is not None:
                    raise EOFError("compressed file ended before the end-of-stream marker was reached")
                return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(compressed))
            if self._frame.eof:
                self._waiting = self._frame.unused_data
                self._frame = None
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def close(self) -> None:
        self._file.close()
        super().close()
