"""Progress, warnings and a last report of a translation, on stderr."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seq2seq.exit_status import ERASE_LINE, ERASE_REST
from seq2seq.translation.text.health import Finding
from seq2seq.translation.text.rewriting import Change

MAX_SHOWN_WARNINGS = 20
_INTERVAL_S = 0.5  # between two lines of progress


class WrittenLine(NamedTuple):
    """A line, or another piece of the input, when it is done.

    Attributes:
        number: from 1.
        n_parts: in how many parts it was translated.
        changes: what was done to it before.
        n_terms: how many terms of the glossary it has.
    """

    number: int
    findings: Sequence[Finding]
    n_parts: int = 1
    changes: Sequence[Change] = ()
    n_terms: int = 0


@dataclass
class Counts:
    """What was found in lines that are written.

    Attributes:
        findings: warnings of each kind.
        n_flagged: lines with warnings.
        changes: lines with changes of each kind.
        n_split: lines that were translated in parts.
        n_replaced: lines of input that were not UTF-8.
        n_terms: terms of the glossary.
    """

    n_written: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    n_flagged: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    n_changed: int = 0
    n_split: int = 0
    n_replaced: int = 0
    n_terms: int = 0

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Counts":
        """The counts that were written as JSON.

        Raises:
            TypeError, KeyError, AttributeError: the content is of another form.
        """
        read: dict[str, Any] = {name: int(n) for name, n in content.items() if name not in _COUNTERS}
        for name in _COUNTERS:
            read[name] = Counter({str(kind): int(n) for kind, n in content[name].items()})
        return cls(**read)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))


_COUNTERS = ("findings", "changes")


class Watch:
    """Counts lines and warnings, and shows progress.

    Attributes:
        counts: what this process has done.
    """

    def __init__(
        self,
        n_lines: int | None,
        is_quiet: bool,
        shows_progress: bool,
        verb: str = "translated",
        *,
        has_glossary: bool = False,
    ) -> None:
        """
        Args:
            n_lines: lines of the whole input; None if that is not known before the end.
            verb: what is done to the lines.
            has_glossary: whether to report on its terms.
        """
        self._n_lines = n_lines
        self._n_found = 0.0  # lines that the search is done with
        self._n_warnings = 0
        self._is_quiet = is_quiet
        self._shows_progress = shows_progress
        self.counts = Counts()
        self._verb = verb
        self._has_glossary = has_glossary
        self._begin_s = self._shown_s = time.monotonic()

    def count_found(self, n_lines: float, n_passed: int = 0) -> None:
        """Show progress, at most twice a second.

        Args:
            n_passed: lines that an earlier run has done, or that others do.
        """
        self._n_found += n_lines
        now_s = time.monotonic()
        if not self._shows_progress or now_s - self._shown_s < _INTERVAL_S:
            return
        self._shown_s = now_s
        rate = self._n_found / (now_s - self._begin_s)
        text = f"{n_passed + self._n_found:,.0f}"
        if self._n_lines and rate:
            left = max(0.0, self._n_lines - n_passed - self._n_found)
            text += f" of {self._n_lines:,} lines, {rate:.1f} lines/s, {_duration(left / rate)} left"
        else:
            text += f" lines, {rate:.1f} lines/s"
        with suppress(OSError):  # what nobody can read stops no work
            print(f"\r{text}{ERASE_REST}", end="", file=sys.stderr, flush=True)

    def count_block(self, lines: Iterable[WrittenLine]) -> Counts:
        """Count the lines of a block, and warn of what was found in their translations."""
        counts = Counts()
        for line in lines:
            counts.n_changed += bool(line.changes)
            counts.changes.update(list(dict.fromkeys(change.kind for change in line.changes)))
            counts.n_split += line.n_parts > 1
            counts.n_terms += line.n_terms
            counts.n_written += 1
            counts.n_flagged += bool(line.findings)
            counts.findings.update([finding.kind for finding in line.findings])
            for finding in line.findings:
                self._n_warnings += 1
                if self._n_warnings <= MAX_SHOWN_WARNINGS:
                    self.say(f"warning: line {line.number}: {finding.message}")
                elif self._n_warnings == MAX_SHOWN_WARNINGS + 1:
                    self.say("warning: further warnings are counted, but not shown")
        self.counts += counts
        return counts

    def report(self, total: Counts | None = None) -> None:
        """Print the last lines.

        Args:
            total: what was counted in the whole text, if this process has not done all of it.
        """
        own, total = self.counts, total or self.counts
        elapsed_s = time.monotonic() - self._begin_s
        rate = own.n_written / max(elapsed_s, 1e-9)
        n_others = total.n_written - own.n_written
        others = f"; {n_others:,} more by other processes or an earlier run" if n_others else ""
        self.say(f"{self._verb} {own.n_written:,} lines in {elapsed_s:.1f} s ({rate:.1f} lines/s){others}")
        if total.n_split:
            self.say(f"lines of several sentences, which were split and joined again: {total.n_split:,}")
        if total.n_changed:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in total.changes.most_common())
            self.say(f"lines that were read as training had them, see --normalize: {total.n_changed:,} ({kinds})")
        if total.n_terms:
            self.say(f"terms of the glossary that were found: {total.n_terms:,}")
        elif self._has_glossary:
            self.say(
                "warning: no term of the glossary is in the text; its first column has words of the source language"
            )
        if total.findings:
            kinds = ", ".join(f"{n} {kind}" for kind, n in total.findings.most_common())
            self.say(f"have a look at {total.n_flagged} of them: {kinds}")
        if own.n_replaced:
            self.say(f"{own.n_replaced} lines of input were not UTF-8; U+FFFD stands for what could not be read")

    def say(self, text: str) -> None:
        """Print a line of its own, unless stderr should be quiet."""
        if not self._is_quiet:
            with suppress(OSError):
                print((ERASE_LINE if self._shows_progress else "") + text, file=sys.stderr)


def _duration(seconds: float) -> str:
    minutes, left_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left_s:02d}"
