"""Where translations go: a file that an interruption does not lose, or a stream.

    with open_output(Path("out.en"), {"model": sha256, "beam_size": 4}, resume=True) as output:
        prefixes = output.follow(read_lines(other_path), "--prefix")  # if there is such a file
        for source, record in translated(output.skip_done(read_lines(path)), prefixes):
            output.write(source, record)
            ...
            output.checkpoint()  # now and then

`resumable.py` says how a file is written, and what an interruption leaves of it.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from filelock import FileLock, Timeout

from seq2seq.errors import TranslationError
from seq2seq.exit_status import tell_at_end
from seq2seq.translation.descriptors import is_stream, open_descriptor
from seq2seq.translation.resumable import ResumableFile, beside, reporting

T = TypeVar("T")


class OutputTaken(TranslationError):
    """Another process writes the output."""


@contextmanager
def open_output(
    path: Path | None, fingerprint: Mapping[str, Any], *, resume: bool = False
) -> Iterator["StreamOutput | ResumableFile"]:
    """Open the output of one translation. It is complete when the block ends without an exception.

    Only then does a regular file appear under its name. After an exception, confirmed lines are kept, to be resumed,
    and `exit_status` tells the user; if there are none, no file is left. Devices, pipes and open descriptors are
    written to directly, without compression.

    Args:
        path: None for stdout. `.gz`, `.xz`, `.bz2` and `.zst` are compressed.
        fingerprint: all that decides how a text is translated (the model, the options), as JSON values. A translation
            is resumed only if its fingerprint is equal.
        resume: continue an interrupted translation, or begin one if there is none. If the file is complete,
            `skip_done` compares the input, and raises AlreadyTranslated.
    Raises:
        TranslationError: the output cannot be written, or another process writes it; or a translation was interrupted,
            and `resume` is not given or does not fit it; or the file is complete, and is not known to be the
            translation that `resume` asks for. Writing raises it too.
    """
    with reporting(path):
        to_stream = is_stream(path)
    if to_stream and resume:
        raise TranslationError(f"{path or 'stdout'} cannot be resumed; --resume needs a regular file as --output")
    if path is None or to_stream:
        descriptor = 1 if path is None else open_descriptor(path)
        yield from _until_flushed(path, descriptor)
    else:
        with locked(path):
            file = ResumableFile(path, fingerprint, resume=resume)
            try:
                yield file
                file.finish()
            except BaseException as error:
                file.abandon()
                if file.kept:
                    tell_at_end(error, file.kept)
                raise


class StreamOutput:
    """Stdout, a device or a pipe, none of which can be resumed."""

    n_lines_done = 0
    kept = ""

    def __init__(self, stream: BinaryIO, path: Path | None) -> None:
        self._stream = stream
        self._path = path

    def follow(self, lines: Iterable[str], option: str) -> Iterator[str]:
        """All lines of a file that goes with the input."""
        return iter(lines)

    def skip_done(self, lines: Iterable[T], source: Callable[[T], str] = str) -> Iterator[T]:
        """All lines, since none is done."""
        return iter(lines)

    def write(self, source: str, record: bytes) -> None:
        """Add what one line of input became."""
        with reporting(self._path):
            self._stream.write(record)

    def checkpoint(self) -> None:
        """Pass on to the reader of the stream what was written."""
        with reporting(self._path):
            self._stream.flush()


def _until_flushed(path: Path | None, descriptor: int | None) -> Iterator[StreamOutput]:
    if path is None or descriptor == 1:
        output = StreamOutput(sys.stdout.buffer, path)
        yield output
        output.checkpoint()
        return
    with reporting(path):  # a copy of the descriptor keeps its place in the file
        stream = path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")
    try:
        output = StreamOutput(stream, path)
        yield output
        output.checkpoint()
    finally:
        with suppress(OSError):  # from a second attempt to flush
            stream.close()


@contextmanager
def locked(path: Path, *, waits: bool = False) -> Iterator[None]:
    """Hold a lock on `path`, so that no second process writes it.

    Args:
        waits: for another process that has it.
    Raises:
        OutputTaken: another process has it.
        TranslationError: its folder does not exist, or takes no file.
    """
    file = beside(path, ".partial.lock")
    if not file.parent.is_dir():  # FileLock would create it
        raise TranslationError(f"cannot write {path}: no directory {path.parent}; create it first")
    lock = FileLock(file)
    try:
        with reporting(path):
            lock.acquire(timeout=-1 if waits else 0)
        yield
    except Timeout:
        raise OutputTaken(f"{path} is being written by another process; wait for it, or choose another name") from None
    finally:
        try:
            _withdraw(lock, file)
        except BaseException:  # the first signal, and later ones raise nothing
            _withdraw(lock, file)
            raise


def _withdraw(lock: FileLock, file: Path) -> None:
    """Remove the file and the lock, whatever of the two is there, unless another process holds the lock."""
    with suppress(OSError, Timeout):
        lock.acquire(timeout=0)  # a signal may have come when the file was there and the lock was not held yet
        # Before the release: afterwards, the file could be another process's. Windows removes it by itself.
        file.unlink()
    lock.release(force=True)
