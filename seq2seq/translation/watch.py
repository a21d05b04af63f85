"""Progress, warnings and a last report of a translation, on stderr."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from seq2seq.exit_status import ERASE_LINE, ERASE_REST
from seq2seq.translation.text.health import Finding
from seq2seq.translation.text.rewriting import Change

MAX_SHOWN_WARNINGS = 20
_INTERVAL_S = 0.5  # between two lines of progress


@dataclass
class Counts:
    """What was found in lines that are written.

    Attributes:
        findings: warnings of each kind.
        n_flagged: lines with warnings.
        changes: lines with changes of each kind.
        n_split: lines that were translated in parts.
        n_replaced: lines of input that were not UTF-8.
    """

    n_written: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    n_flagged: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    n_changed: int = 0
    n_split: int = 0
    n_replaced: int = 0


class Watch:
    """Counts lines and warnings, and shows progress."""

    def __init__(
        self,
        n_lines: int | None,
        n_done: int,
        is_quiet: bool,
        shows_progress: bool,
        verb: str = "translated",
        n_others: Callable[[], int] = lambda: 0,
    ) -> None:
        """
        Args:
            verb: what is done to the lines.
            n_others: lines that other processes have done meanwhile.
            n_lines: lines of the whole input; None if that is not known before the end.
            n_done: lines that an earlier run has translated.
        """
        self._n_lines = n_lines
        self._n_before = n_done
        self._n_found = 0  # lines that the search is done with
        self._is_quiet = is_quiet
        self._shows_progress = shows_progress
        self.counts = Counts()
        self._n_others = n_others
        self._verb = verb
        self._begin_s = self._shown_s = time.monotonic()

    def count_found(self, n_lines: int) -> None:
        """Show progress, at most twice a second."""
        self._n_found += n_lines
        now_s = time.monotonic()
        if not self._shows_progress or now_s - self._shown_s < _INTERVAL_S:
            return
        self._shown_s = now_s
        n_found = self._n_found + self._n_others()
        rate = n_found / (now_s - self._begin_s)
        text = f"{self._n_before + n_found:,}"
        if self._n_lines:
            left = max(0, self._n_lines - self._n_before - n_found)
            text += f" of {self._n_lines:,} lines, {rate:.1f} lines/s, {_duration(left / rate)} left"
        else:
            text += f" lines, {rate:.1f} lines/s"
        with suppress(OSError):  # what nobody can read stops no work
            print(f"\r{text}{ERASE_REST}", end="", file=sys.stderr, flush=True)

    def count_written(
        self, number: int, findings: Sequence[Finding], n_parts: int = 1, changes: Sequence[Change] = ()
    ) -> None:
        """Count a line of so many parts, which was changed so, and warn of what was found in its translation."""
        counts = self.counts
        counts.n_changed += bool(changes)
        counts.changes.update(list(dict.fromkeys(change.kind for change in changes)))
        counts.n_split += n_parts > 1
        counts.n_written += 1
        counts.n_flagged += bool(findings)
        for finding in findings:
            n_warnings = sum(counts.findings.values())
            counts.findings[finding.kind] += 1
            if n_warnings < MAX_SHOWN_WARNINGS:
                self.say(f"warning: line {number}: {finding.message}")
            elif n_warnings == MAX_SHOWN_WARNINGS:
                self.say("warning: further warnings are counted, but not shown")

    def report(self, others: Sequence[Counts] = ()) -> None:
        """Print the last lines.

        Args:
            others: what other processes have counted.
        """
        total = self.counts
        for each in others:
            total = Counts(
                *(mine + theirs for mine, theirs in zip(vars(total).values(), vars(each).values(), strict=True))
            )
        elapsed_s = time.monotonic() - self._begin_s
        rate = total.n_written / max(elapsed_s, 1e-9)
        before = f", after {self._n_before:,} of an earlier run" if self._n_before else ""
        together = f" with {1 + len(others)} processes" if others else ""
        self.say(f"{self._verb} {total.n_written:,} lines in {elapsed_s:.1f} s ({rate:.1f} lines/s){together}{before}")
        if total.n_split:
            self.say(f"lines of several sentences, which were split and joined again: {total.n_split:,}")
        if total.n_changed:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in total.changes.most_common())
            self.say(f"lines that were read as training had them, see --normalize: {total.n_changed:,} ({kinds})")
        if total.findings:
            kinds = ", ".join(f"{n} {kind}" for kind, n in total.findings.most_common())
            self.say(f"have a look at {total.n_flagged} of them: {kinds}")
        if total.n_replaced:
            self.say(f"{total.n_replaced} lines of input were not UTF-8; U+FFFD stands for what could not be read")

    def say(self, text: str) -> None:
        """Print a line of its own, unless stderr should be quiet."""
        if not self._is_quiet:
            with suppress(OSError):
                print((ERASE_LINE if self._shows_progress else "") + text, file=sys.stderr)


def _duration(seconds: float) -> str:
    minutes, left_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left_s:02d}"
