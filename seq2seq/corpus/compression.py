"""Plain and compressed files as streams of bytes; a compressed file that ends early is an error.

A compressed file is a sequence of members (zstd calls them frames, xz streams), and its text is the sequence of their
texts. So a file can grow by whole members, and can be read after each of them.
"""

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

# What the decompressors raise for damaged or incomplete input. A disk that fails raises other OSErrors.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading. Its suffix decides how it is decompressed (`.gz`, `.xz`, `.bz2`, `.zst`).

    Raises:
        OSError: the file cannot be opened. When compressed data are damaged or incomplete, reading raises one of
            `DAMAGE`, or for bz2 an OSError without errno.
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
    # The other formats have a checksum; zstandard writes one only if it is asked to.
    return zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)


class _ZstdStream(io.RawIOBase):
    """Zstandard frames as one stream. `zstandard.stream_reader` does not notice that a file is incomplete."""

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
