"""The share of one process: whichever parts of the text are free, as an output for `Work`.

The process reads the whole input, and passes over the parts that others make or have made. A part is claimed when the
reading comes to it, so a fast process makes more of them. The parts that are being searched are open side by side:
workers do not wait at the end of one.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from seq2seq.errors import TranslationError
from seq2seq.translation.blocks import Placed
from seq2seq.translation.output import OutputTaken, locked
from seq2seq.translation.resumable import ResumableFile
from seq2seq.translation.sharing.plan import Folder, Plan

if TYPE_CHECKING:
    from typing_extensions import Self

U = TypeVar("U")


@dataclass
class _OpenPart:
    index: int
    file: ResumableFile
    lock: ExitStack
    n_left: int  # units that are not written yet


class Share:
    """What one process writes. It is used in a `with` block; parts that are not whole at its end can be continued.

    Attributes:
        n_written: units that were written.
        n_taken: parts that it took.
        has_last: whether the last part of the text is among those that it took.
    """

    kept = ""
    n_lines_done = 0  # all numbers are those of the whole text

    def __init__(
        self, folder: Folder, plan: Plan, is_mine: Callable[[int], bool], *, waits: bool, progress: Path | None = None
    ) -> None:
        """
        Args:
            is_mine: whether this process may make a part.
            waits: pass over a part that another process is making. If not, that is an error.
            progress: a file for the number of units that were written so far.
        """
        self._folder = folder
        self._plan = plan
        self._is_mine = is_mine
        self._waits = waits
        self._progress = progress
        self._open: deque[_OpenPart] = deque()  # in order; the first is being written
        self._block_ends: deque[bool] = deque()  # for each unit that is read and not written
        self._parallel: Iterator[str] | None = None
        self._option = ""
        self._beside: Iterator[str] | None = None  # the lines that go with the part that was opened last
        self.n_written = 0
        self.n_taken = 0
        self.has_last = False

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while self._open:
            part = self._open.popleft()
            part.file.abandon()
            part.lock.close()

    def follow(self, lines: Iterable[str], option: str) -> Iterator[str]:
        """The lines of a file that goes with the input, those of this share. Call it before `skip_done`."""
        self._parallel, self._option = iter(lines), option
        return self._followed()

    def _followed(self) -> Iterator[str]:
        while (lines := self._beside) is not None:  # a unit is read before the line that goes with it
            self._beside = None
            yield from lines

    def skip_done(self, units: Iterable[Placed[U]], source: Callable[[Placed[U]], str]) -> Iterator[Placed[U]]:
        """The units of this share that are still to be translated.

        Args:
            units: the whole input.
        Raises:
            TranslationError: the input is not the one of the plan, or another process makes a part.
        """
        units = iter(units)
        for index, part in enumerate(self._plan.parts):
            inside = islice(units, part.n_units)
            beside = islice(self._parallel or (), part.n_units)
            if not self._takes(index):
                self._pass_over(index, inside, source, beside)
                continue
            opened = self._open[-1]
            if self._parallel is not None:
                self._beside = opened.file.follow(beside, self._option)
            todo = opened.file.skip_done(inside, source)
            n_todo = opened.n_left = part.n_units - opened.file.n_lines_done
            self._finish()
            for unit in todo:
                n_todo -= 1
                self._block_ends.append(unit.ends_block)
                yield unit
            if n_todo:
                raise self._changed(index)
        if next(units, None) is not None:
            raise self._changed(len(self._plan.parts) - 1)

    def write(self, source: str, record: bytes) -> None:
        """Add what one unit became. What is written is confirmed at the end of each block."""
        part = self._open[0]
        part.file.write(source, record)
        part.n_left -= 1
        self.n_written += 1
        if self._block_ends.popleft() or not part.n_left:
            part.file.checkpoint()
            self._finish()

    def checkpoint(self) -> None:
        """Tell others how far this process is. Inside a block nothing is confirmed: its batches would change."""
        if self._progress is not None:
            with suppress(OSError):
                self._progress.write_text(f"{self.n_written}\n")

    def _takes(self, index: int) -> bool:
        """Claim a part, if it is to be made and free."""
        if not self._is_mine(index) or not self._folder.fault(self._plan, index):
            return False
        lock = ExitStack()
        try:
            lock.enter_context(locked(self._folder.part(index)))
        except OutputTaken:
            if self._waits:
                return False
            raise
        if not self._folder.fault(self._plan, index):  # another process has just made it
            lock.close()
            return False
        try:
            self._folder.part(index).unlink(missing_ok=True)  # with a fault
            file = ResumableFile(self._folder.part(index), self._plan.fingerprint, resume=True, record_is_beside=True)
        except BaseException:
            lock.close()
            raise
        self._open.append(_OpenPart(index, file, lock, self._plan.parts[index].n_units))
        self.n_taken += 1
        self.has_last |= index == len(self._plan.parts) - 1
        return True

    def _finish(self) -> None:
        """Give the parts at the front their names that are written to their end."""
        while self._open and not self._open[0].n_left:
            part = self._open[0]
            planned = self._plan.parts[part.index]
            if part.file.digests != (planned.source_sha256, planned.parallel_sha256):
                part.file.discard()
                raise self._changed(part.index)
            part.file.finish()
            part.lock.close()
            self._open.popleft()

    def _pass_over(
        self, index: int, inside: Iterator[Placed[U]], source: Callable[[Placed[U]], str], beside: Iterator[str]
    ) -> None:
        """Read a part that is not translated here, and see that it is the one of the plan."""
        part = self._plan.parts[index]
        digests = hashlib.sha256(), hashlib.sha256()
        for unit in inside:
            digests[0].update(source(unit).encode() + b"\n")
        for line in beside:
            digests[1].update(line.encode() + b"\n")
        if [digest.hexdigest() for digest in digests] != [part.source_sha256, part.parallel_sha256]:
            raise self._changed(index)

    def _changed(self, index: int) -> TranslationError:
        before = sum(part.n_units for part in self._plan.parts[:index])
        last = before + self._plan.parts[index].n_units
        also = f" or {self._option}" if self._parallel is not None else ""
        return TranslationError(
            f"the input{also} has changed since it was shared out (between lines {before + 1} and {last}); give the "
            f"same one, or {self._folder.to_start_anew}"
        )
