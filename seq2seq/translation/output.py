"""Where translations go: a file that an interruption does not lose, or a stream.

    with open_output(Path("out.en"), {"model": sha256, "beam_size": 4}, resume=True) as output:
        for source, record in translated(output.skip_done(read_lines(path))):
            output.write(source, record)
            ...
            output.checkpoint()  # now and then

Until `out.en` is complete, its text is in `out.en.partial`. `out.en.partial.json` says how much of that text is
confirmed: how many lines of input, how many bytes, and with which settings. Only `checkpoint` confirms. `resume` cuts
off what was written after the last checkpoint, and those lines are translated again. A compressed file has one member
for each checkpoint, so that it can be cut there.
"""

import dataclasses
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from seq2seq.corpus.compression import open_member
from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.errors import TranslationError
from seq2seq.files import sync_directory, write_json

_FORMAT = 1  # version of `out.en.partial.json`


class AlreadyTranslated(TranslationError):
    """There is nothing to resume, since the output is complete. A caller may take that for success."""


@contextmanager
def open_output(
    path: Path | None, fingerprint: Mapping[str, Any], *, resume: bool = False
) -> Iterator["StreamOutput | ResumableFile"]:
    """Open the output of one translation. It is complete when the block ends without an exception.

    Only then does a regular file appear under its name. After an exception, confirmed lines are kept, to be resumed; if
    there are none, no file is left. Devices and pipes are written to directly, without compression.

    Args:
        path: None for stdout. `.gz`, `.xz`, `.bz2` and `.zst` are compressed.
        fingerprint: all that decides how a text is translated (the model, the options), as JSON values. A translation
            is resumed only if its fingerprint is equal.
        resume: continue an interrupted translation, or begin one if there is none.
    Raises:
        AlreadyTranslated: `resume` is given, and the file is complete.
        TranslationError: the output cannot be written, or another process writes it; or a translation was interrupted,
            and `resume` is not given or does not fit it. Writing raises it too.
    """
    with _reporting(path):
        is_stream = path is None or (path.exists() and not path.is_file())
    if is_stream and resume:
        raise TranslationError(f"{path or 'stdout'} cannot be resumed; --resume needs a regular file as --output")
    if path is None:
        yield from _until_flushed(StreamOutput(sys.stdout.buffer, path))
    elif is_stream:
        with _reporting(path):
            stream = path.open("wb")
        try:
            yield from _until_flushed(StreamOutput(stream, path))
        finally:
            with suppress(OSError):  # from a second attempt to flush
                stream.close()
    else:
        with _locked(path):
            file = ResumableFile(path, fingerprint, resume=resume)
            try:
                yield file
                file.finish()
            except BaseException:
                file.abandon()
                raise


class StreamOutput:
    """Stdout, a device or a pipe, none of which can be resumed."""

    n_lines_done = 0
    kept = ""

    def __init__(self, stream: BinaryIO, path: Path | None) -> None:
        self._stream = stream
        self._path = path

    def skip_done(self, lines: Iterable[str]) -> Iterator[str]:
        """All lines, since none is done."""
        return iter(lines)

    def write(self, source: str, record: bytes) -> None:
        """Add what one line of input became."""
        with _reporting(self._path):
            self._stream.write(record)

    def checkpoint(self) -> None:
        """Pass on to the reader of the stream what was written."""
        with _reporting(self._path):
            self._stream.flush()


@dataclass(frozen=True, kw_only=True)
class _Progress:
    """How much of a translation is confirmed: the content of `out.en.partial.json`.

    Attributes:
        n_lines: lines of input whose translations are in the first `n_bytes` of the partial file.
        source_sha256: SHA-256 of these lines of input, each ended by LF.
    """

    fingerprint: dict[str, Any]
    n_lines: int = 0
    n_bytes: int = 0
    source_sha256: str = hashlib.sha256().hexdigest()
    format: int = _FORMAT


class ResumableFile:
    """A file that is written beside its final name; use `open_output`."""

    def __init__(self, path: Path, fingerprint: Mapping[str, Any], *, resume: bool) -> None:
        self._path = path
        self._target = path.resolve()  # so that a symbolic link stays one
        self._partial = _beside(path, ".partial")
        self._sidecar = _beside(path, ".partial.json")
        self._suffix = path.suffix if path.suffix in COMPRESSIONS else ""
        self._member: BinaryIO | None = None  # of a compressed file: what was written since the last checkpoint
        self._digest = hashlib.sha256()
        self._n_written = 0
        # As it will be read back from JSON, where tuples are lists.
        settings = json.loads(json.dumps({**fingerprint, "compression": self._suffix}))
        self._done = _Progress(fingerprint=settings)
        with _reporting(path):
            self._file = self._begin(resume)

    @property
    def n_lines_done(self) -> int:
        """Lines of input whose translations are confirmed; at first, those of the interrupted translation."""
        return self._done.n_lines

    @property
    def kept(self) -> str:
        """A message for the user who interrupted the translation; empty if nothing is kept."""
        if not self.n_lines_done:
            return ""
        return f"{self.n_lines_done} translated lines are kept in {self._partial}; continue with --resume"

    def skip_done(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines that are still to be translated. Call it before writing anything.

        Raises:
            TranslationError: the lines before them are not the ones whose translations are in the file.
        """
        lines = iter(lines)
        for line in islice(lines, self.n_lines_done):
            self._count(line)
        if self._n_written < self.n_lines_done:
            raise TranslationError(
                f"the input has {self._n_written} lines, and {self._partial} holds the translations of "
                f"{self.n_lines_done}; give the same input, or {self._to_start_anew()}"
            )
        if self._digest.hexdigest() != self._done.source_sha256:
            raise TranslationError(
                f"lines 1 to {self.n_lines_done} of the input are not those whose translations are in "
                f"{self._partial}; give the same input, or {self._to_start_anew()}"
            )
        return lines

    def write(self, source: str, record: bytes) -> None:
        """Add what one line of input became."""
        assert self._n_written >= self.n_lines_done, "skip_done comes first"
        with _reporting(self._path, self.kept):
            self._stream().write(record)
        self._count(source)

    def checkpoint(self) -> None:
        """Confirm what was written, so that no interruption can lose it. That costs three fsyncs."""
        if self._n_written > self.n_lines_done:
            self._confirm()

    def finish(self) -> None:
        """Confirm what was written, and give the file its final name."""
        if self._suffix and not self._n_written:
            self._stream()  # an empty file is no valid compressed file
        self._confirm()
        with _reporting(self._path, self.kept):
            self._file.close()
            self._partial.replace(self._target)
            sync_directory(self._target.parent)
            self._sidecar.unlink()  # useless without its partial file

    def abandon(self) -> None:
        """Close the file, and keep what is confirmed.

        The rest is not cut off here. What is on disk decides: an interruption in `_confirm` can leave this object
        behind it.
        """
        with suppress(OSError):
            self._end_member()
        with suppress(OSError):
            self._file.close()
        with suppress(OSError, TranslationError):
            confirmed = self._read_progress()
            if confirmed is None or not confirmed.n_lines:
                self._remove()

    def _begin(self, resume: bool) -> BinaryIO:
        earlier = self._read_progress()
        if earlier is None and resume and self._target.exists():
            raise AlreadyTranslated(
                f"nothing to resume: {self._path} is complete; leave out --resume to translate it again"
            )
        if earlier is None or earlier.n_lines == 0:
            return self._create()
        if not resume:
            raise TranslationError(
                f"{self._partial} holds {earlier.n_lines} translated lines of an interrupted translation: continue it "
                f"with --resume, or {self._to_start_anew()}"
            )
        self._check_fingerprint(earlier)
        return self._continue(earlier)

    def _create(self) -> BinaryIO:
        self._remove()
        replaced = stat.S_IMODE(self._target.stat().st_mode) if self._target.exists() else None
        try:
            self._write_progress(self._done)  # first: a partial file without it could be anybody's
            self._partial.touch(mode=0o666 if replaced is None else replaced, exist_ok=False)
            if replaced is not None:
                self._partial.chmod(replaced)  # exactly: the umask does not count here
            sync_directory(self._target.parent)
            return self._partial.open("r+b")
        except BaseException:
            self._remove()
            raise

    def _continue(self, earlier: _Progress) -> BinaryIO:
        n_bytes = self._partial.stat().st_size
        if n_bytes < earlier.n_bytes:
            raise TranslationError(
                f"{self._partial} has {n_bytes} bytes, but {earlier.n_bytes} were written; was it copied in part? "
                f"Put the whole file back, or {self._to_start_anew()}"
            )
        self._done = earlier
        file = self._partial.open("r+b")
        file.truncate(earlier.n_bytes)  # the rest was not confirmed, and may be half a line
        file.seek(earlier.n_bytes)
        return file

    def _check_fingerprint(self, earlier: _Progress) -> None:
        old, new = earlier.fingerprint, self._done.fingerprint
        changes = [
            f"{key} was {json.dumps(old.get(key))} and is now {json.dumps(new.get(key))}"
            for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)
        ]
        if changes:
            raise TranslationError(
                f"{self._partial} was begun with other settings: {'; '.join(changes)}. Continue it with the same, or "
                f"{self._to_start_anew()}"
            )

    def _read_progress(self) -> _Progress | None:
        if not self._partial.exists():
            return None
        try:
            content = json.loads(self._sidecar.read_bytes())
            if content["format"] != _FORMAT:
                raise TranslationError(
                    f"{self._sidecar} was written by another version of this program; continue with that one, or "
                    f"{self._to_start_anew()}"
                )
            if content.keys() != {field.name for field in dataclasses.fields(_Progress)}:
                raise KeyError
            return _Progress(**content)
        except FileNotFoundError:
            raise TranslationError(
                f"{self._partial} exists without {self._sidecar.name}, which would say what it is; move it away"
            ) from None
        except (ValueError, TypeError, KeyError) as error:
            raise TranslationError(f"{self._sidecar} is damaged; {self._to_start_anew()}") from error

    def _write_progress(self, progress: _Progress) -> None:
        write_json(self._sidecar, dataclasses.asdict(progress))

    def _confirm(self) -> None:
        assert self._n_written >= self.n_lines_done, "skip_done comes first"
        with _reporting(self._path, self.kept):
            self._end_member()
            self._file.flush()
            os.fsync(self._file.fileno())
            done = dataclasses.replace(
                self._done,
                n_lines=self._n_written,
                n_bytes=self._file.tell(),
                source_sha256=self._digest.hexdigest(),
            )
            self._write_progress(done)
        self._done = done

    def _stream(self) -> BinaryIO:
        if not self._suffix:
            return self._file
        if self._member is None:
            self._member = open_member(self._file, self._suffix)
        return self._member

    def _end_member(self) -> None:
        if self._member is not None:
            self._member.close()
            self._member = None

    def _count(self, source: str) -> None:
        self._digest.update(source.encode() + b"\n")
        self._n_written += 1

    def _remove(self) -> None:
        self._partial.unlink(missing_ok=True)
        self._sidecar.unlink(missing_ok=True)

    def _to_start_anew(self) -> str:
        return f"remove {self._partial} to start anew"


def _until_flushed(output: StreamOutput) -> Iterator[StreamOutput]:
    yield output
    output.checkpoint()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock on `path`, so that no second process writes it."""
    file = _beside(path, ".partial.lock")
    if not file.parent.is_dir():  # FileLock would create it
        raise TranslationError(f"cannot write {path}: no directory {path.parent}; create it first")
    lock = FileLock(file)
    try:
        with _reporting(path):
            lock.acquire(timeout=0)
    except Timeout:
        raise TranslationError(
            f"{path} is being written by another process; wait for it, or choose another name"
        ) from None
    try:
        yield
    finally:
        # Before the release: afterwards, the file could be another process's. Windows removes it by itself.
        with suppress(OSError):
            file.unlink()
        lock.release()


@contextmanager
def _reporting(path: Path | None, kept: str = "") -> Iterator[None]:
    """Turn an OSError into a TranslationError, except of a closed pipe, whose reader may stop at any time."""
    try:
        yield
    except (BrokenPipeError, Timeout):  # filelock's Timeout is an OSError
        raise
    except OSError as error:
        problem = f"cannot write {path or 'stdout'}: {error.strerror or error}"
        raise TranslationError(f"{problem}; {kept}" if kept else problem) from error


def _beside(path: Path, ending: str) -> Path:
    target = path.resolve()
    return target.with_name(target.name + ending)
