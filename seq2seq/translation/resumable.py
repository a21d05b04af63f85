"""A translation in a file, written so that no interruption loses what is confirmed.

Until `out.en` is complete, its text is in `out.en.partial`. `out.en.partial.json` says how much of that text is
confirmed: how many lines of input, how many bytes, and with which settings. Only `checkpoint` confirms. `resume` cuts
off what was written after the last checkpoint, and those lines are translated again. A compressed file has one member
for each checkpoint, so that it can be cut there. A complete file keeps a record of the same facts (`finished.py`), so
that `resume` can tell whether it is the translation that is asked for.
"""

import dataclasses
import hashlib
import json
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from filelock import Timeout

from seq2seq.corpus.compression import open_member
from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.errors import TranslationError
from seq2seq.files import is_sealed, sealed, sync_directory, write_json
from seq2seq.translation.finished import read_record, write_record

T = TypeVar("T")

FORMAT = 2  # version of `out.en.partial.json` and of the record of a complete file
NO_LINES = hashlib.sha256().hexdigest()


class AlreadyTranslated(TranslationError):
    """There is nothing to resume, since the output is complete. A caller may take that for success."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How much of a translation is confirmed: the content of `out.en.partial.json`.

    Attributes:
        n_lines: lines of input whose translations are in the first `n_bytes` of the partial file.
        source_sha256: SHA-256 of these lines of input, each ended by LF.
        parallel_sha256: of as many lines of the file that goes with the input, if there is one.
        sha256: of a complete file's bytes; empty for a partial one, where the file has that of itself there.
    """

    fingerprint: dict[str, Any]
    n_lines: int = 0
    n_bytes: int = 0
    source_sha256: str = NO_LINES
    parallel_sha256: str = NO_LINES
    sha256: str = ""
    format: int = FORMAT


class ResumableFile:
    """A file that is written beside its final name; use `open_output`."""

    def __init__(
        self, path: Path, fingerprint: Mapping[str, Any], *, resume: bool, record_is_beside: bool = False
    ) -> None:
        self._record_is_beside = record_is_beside
        self._path = path
        self._target = path.resolve()  # so that a symbolic link stays one
        self._partial = beside(path, ".partial")
        self._sidecar = beside(path, ".partial.json")
        self._suffix = path.suffix if path.suffix in COMPRESSIONS else ""
        self._member: BinaryIO | None = None  # of a compressed file: what was written since the last checkpoint
        self._source_digest = hashlib.sha256()
        self._parallel_digest = hashlib.sha256()
        self._waiting: deque[str] | None = None  # parallel lines that were read, but belong to no written line yet
        self._n_written = 0
        self._is_complete = False  # before this run
        settings = json_values({**fingerprint, "compression": self._suffix})
        self._done = Progress(fingerprint=settings)
        with reporting(path):
            self._file = self._begin(resume)

    @property
    def n_lines_done(self) -> int:
        """Lines of input whose translations are confirmed; at first, those of the interrupted translation."""
        return self._done.n_lines

    @property
    def kept(self) -> str:
        """A message for the user whose translation was cut short; empty if nothing is kept."""
        if not self.n_lines_done or self._is_complete:
            return ""
        return f"{self.n_lines_done} translated lines are kept in {self._partial}; continue with --resume"

    @property
    def digests(self) -> tuple[str, str]:
        """Of what was written so far: `source_sha256` and `parallel_sha256` as in `Progress`."""
        return self._source_digest.hexdigest(), self._parallel_digest.hexdigest()

    def follow(self, lines: Iterable[str], option: str) -> Iterator[str]:
        """The lines of a file that goes with the input, without those that are done. Call it before `skip_done`.

        Line n must have been taken from the iterator before the translation of line n is written.

        Args:
            lines: one for each line of the input.
            option: names the file in messages.
        Raises:
            TranslationError: the lines left out are not those that the translations in the file were made with.
        """
        lines = iter(lines)
        n_skipped = 0
        for n_skipped, line in enumerate(islice(lines, self.n_lines_done), start=1):  # noqa: B007
            self._parallel_digest.update(line.encode() + b"\n")
        self._check_same(option, n_skipped, self._parallel_digest.hexdigest(), self._done.parallel_sha256)
        self._waiting = deque()
        return self._remembering(lines, self._waiting)

    def skip_done(self, lines: Iterable[T], source: Callable[[T], str] = str) -> Iterator[T]:
        """The lines that are still to be translated. Call it before writing anything.

        Args:
            lines: of text, or other parts of the input.
            source: the text of one of them.
        Raises:
            AlreadyTranslated: the file is complete, and these are the lines that it is the translation of.
            TranslationError: the lines left out are not the ones whose translations are in the file.
        """
        assert self._waiting is not None or self._done.parallel_sha256 == NO_LINES, "follow comes first"
        lines = iter(lines)
        for line in islice(lines, self.n_lines_done):
            self._count(source(line))
        self._check_same("the input", self._n_written, self._source_digest.hexdigest(), self._done.source_sha256)
        if self._is_complete:
            if next(lines, None) is not None:
                raise TranslationError(
                    f"the input has more than the {self.n_lines_done} lines whose translations are in {self._path}; "
                    f"{self._to_start_anew()}"
                )
            raise AlreadyTranslated(
                f"nothing to resume: {self._path} is complete; leave out --resume to translate it again"
            )
        return lines

    def write(self, source: str, record: bytes) -> None:
        """Add what one line of input became."""
        assert self._n_written >= self.n_lines_done, "skip_done comes first"
        with reporting(self._path):
            self._stream().write(record)
        self._count(source)
        if self._waiting is not None:
            self._parallel_digest.update(self._waiting.popleft().encode() + b"\n")

    def checkpoint(self) -> None:
        """Confirm what was written, so that no interruption can lose it. That costs three fsyncs."""
        if self._n_written > self.n_lines_done:
            self._confirm()

    def finish(self) -> None:
        """Confirm what was written, and give the file its final name."""
        if self._suffix and not self._n_written:
            self._stream()  # an empty file is no valid compressed file
        self._confirm()
        with reporting(self._path):
            self._file.close()
            record = dataclasses.replace(self._done, sha256=sha256_of(self._partial))
            write_record(self._partial, self._target, dataclasses.asdict(record), is_beside=self._record_is_beside)
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
            self._done = confirmed or dataclasses.replace(self._done, n_lines=0)

    def discard(self) -> None:
        """Throw away what was written, before `abandon`."""
        self._remove()

    def _begin(self, resume: bool) -> BinaryIO:
        earlier = self._read_progress()
        if earlier is None and resume and self._target.exists():
            self._done = self._read_complete()
            self._is_complete = True
            return self._target.open("rb")
        if earlier is None or earlier.n_lines == 0:
            return self._create()
        if not resume:
            raise TranslationError(
                f"{self._partial} holds {earlier.n_lines} translated lines of an interrupted translation: continue it "
                f"with --resume, or {self._to_start_anew()}"
            )
        self._check_fingerprint(earlier, f"{self._partial} was begun", "Continue it with the same, or ")
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

    def _continue(self, earlier: Progress) -> BinaryIO:
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

    def _read_complete(self) -> Progress:
        """What the complete file is the translation of, if that is what this run asks for."""
        self._is_complete = True  # for the remedies
        try:
            record = Progress(**read_record(self._target))
        except TypeError:
            record = None
        if record is None or record.format != FORMAT:
            raise TranslationError(
                f"{self._path} exists, but there is no record of how it was made (it was copied or edited, or another "
                f"program wrote it), so --resume cannot tell whether it is done; {self._to_start_anew()}"
            )
        if self._target.stat().st_size != record.n_bytes or sha256_of(self._target) != record.sha256:
            raise TranslationError(f"{self._path} was changed after it was translated; {self._to_start_anew()}")
        self._check_fingerprint(record, f"{self._path} was translated", "Ask for the same, or ")
        return record

    def _check_fingerprint(self, earlier: Progress, what: str, remedy: str) -> None:
        if changes := differences(earlier.fingerprint, self._done.fingerprint):
            raise TranslationError(f"{what} with other settings: {changes}. {remedy}{self._to_start_anew()}")

    def _check_same(self, name: str, n_lines: int, sha256: str, expected: str) -> None:
        holder = self._path if self._is_complete else self._partial
        remedy = f"give the same {name.removeprefix('the ')}, or {self._to_start_anew()}"
        if n_lines < self.n_lines_done:
            raise TranslationError(
                f"{name} has {n_lines} lines, and {holder} holds the translations of {self.n_lines_done}; {remedy}"
            )
        if sha256 != expected:
            raise TranslationError(
                f"lines 1 to {self.n_lines_done} of {name} are not those whose translations are in {holder}; {remedy}"
            )

    def _read_progress(self) -> Progress | None:
        if not self._partial.exists():
            return None
        try:
            content = json.loads(self._sidecar.read_bytes())
            if content["format"] != FORMAT:
                raise TranslationError(
                    f"{self._sidecar} was written by another version of this program; continue with that one, or "
                    f"{self._to_start_anew()}"
                )
            if not is_sealed(content) or content.keys() != {field.name for field in dataclasses.fields(Progress)}:
                raise KeyError  # another `n_bytes` would cut off translated lines
            return Progress(**content | {"sha256": ""})
        except FileNotFoundError:
            raise TranslationError(
                f"{self._partial} exists without {self._sidecar.name}, which would say what it is; move it away"
            ) from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise TranslationError(f"{self._sidecar} is damaged; {self._to_start_anew()}") from error

    def _write_progress(self, progress: Progress) -> None:
        write_json(self._sidecar, sealed(dataclasses.asdict(progress)))

    def _confirm(self) -> None:
        assert self._n_written >= self.n_lines_done, "skip_done comes first"
        assert not self._is_complete
        with reporting(self._path):
            self._end_member()
            self._file.flush()
            os.fsync(self._file.fileno())
            done = dataclasses.replace(
                self._done,
                n_lines=self._n_written,
                n_bytes=self._file.tell(),
                source_sha256=self._source_digest.hexdigest(),
                parallel_sha256=self._parallel_digest.hexdigest(),
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
        self._source_digest.update(source.encode() + b"\n")
        self._n_written += 1

    @staticmethod
    def _remembering(lines: Iterator[str], waiting: deque[str]) -> Iterator[str]:
        for line in lines:
            waiting.append(line)
            yield line

    def _remove(self) -> None:
        self._partial.unlink(missing_ok=True)
        self._sidecar.unlink(missing_ok=True)

    def _to_start_anew(self) -> str:
        if self._is_complete:
            return "leave out --resume to translate it again, or choose another --output"
        return f"remove {self._partial} to start anew"


@contextmanager
def reporting(path: Path | None) -> Iterator[None]:
    """Turn an OSError into a TranslationError, except of a closed pipe, whose reader may stop at any time."""
    try:
        yield
    except (BrokenPipeError, Timeout):  # filelock's Timeout is an OSError
        raise
    except OSError as error:
        raise TranslationError(f"cannot write {path or 'stdout'}: {error.strerror or error}") from error


def json_values(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content as it will be read back from JSON, where tuples are lists."""
    values: dict[str, Any] = json.loads(json.dumps(content))
    return values


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """In what two fingerprints differ; empty if in nothing."""
    return "; ".join(
        f"{key} was {json.dumps(old.get(key))} and is now {json.dumps(new.get(key))}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    )


def beside(path: Path, ending: str) -> Path:
    """The path of a file that goes with the file that `path` leads to."""
    target = path.resolve()
    return target.with_name(target.name + ending)


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
