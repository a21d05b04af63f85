"""Progress, warnings and a last report of a translation, on stderr."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from seq2seq.exit_status import ERASE_LINE, ERASE_REST
from seq2seq.translation.text.health import Finding
from seq2seq.translation.text.rewriting import Change

MAX_SHOWN_WARNINGS = 20
_INTERVAL_S = 0.5  # between two lines of progress


class Watch:
    """Counts lines and warnings, and shows progress."""

    def __init__(
        self, n_lines: int | None, n_done: int, is_quiet: bool, shows_progress: bool, verb: str = "translated"
    ) -> None:
        """
        Args:
            verb: what is done to the lines.
            n_lines: lines of the whole input; None if that is not known before the end.
            n_done: lines that an earlier run has translated.
        """
        self._n_lines = n_lines
        self._n_before = n_done
        self._n_found = 0  # lines that the search is done with
        self._n_written = 0
        self._is_quiet = is_quiet
        self._shows_progress = shows_progress
        self._findings: Counter[str] = Counter()
        self._n_flagged = 0  # lines with warnings
        self._changes: Counter[str] = Counter()  # lines with changes of each kind
        self._n_changed = 0
        self._n_split = 0  # lines that were translated in parts
        self._verb = verb
        self._begin_s = self._shown_s = time.monotonic()

    def count_found(self, n_lines: int) -> None:
        """Show progress, at most twice a second."""
        self._n_found += n_lines
        now_s = time.monotonic()
        if not self._shows_progress or now_s - self._shown_s < _INTERVAL_S:
            return
        self._shown_s = now_s
        rate = self._n_found / (now_s - self._begin_s)
        text = f"{self._n_before + self._n_found:,}"
        if self._n_lines:
            left = max(0, self._n_lines - self._n_before - self._n_found)
            text += f" of {self._n_lines:,} lines, {rate:.1f} lines/s, {_duration(left / rate)} left"
        else:
            text += f" lines, {rate:.1f} lines/s"
        with suppress(OSError):  # what nobody can read stops no work
            print(f"\r{text}{ERASE_REST}", end="", file=sys.stderr, flush=True)

    def count_written(
        self, number: int, findings: Sequence[Finding], n_parts: int = 1, changes: Sequence[Change] = ()
    ) -> None:
        """Count a line of so many parts, which was changed so, and warn of what was found in its translation."""
        self._n_changed += bool(changes)
        self._changes.update(list(dict.fromkeys(change.kind for change in changes)))
        self._n_split += n_parts > 1
        self._n_written += 1
        self._n_flagged += bool(findings)
        for finding in findings:
            n_warnings = sum(self._findings.values())
            self._findings[finding.kind] += 1
            if n_warnings < MAX_SHOWN_WARNINGS:
                self.say(f"warning: line {number}: {finding.message}")
            elif n_warnings == MAX_SHOWN_WARNINGS:
                self.say("warning: further warnings are counted, but not shown")

    def report(self, n_replaced: int) -> None:
        """Print the last lines; for n_replaced see `report_replaced`."""
        elapsed_s = time.monotonic() - self._begin_s
        rate = self._n_written / max(elapsed_s, 1e-9)
        before = f", after {self._n_before:,} of an earlier run" if self._n_before else ""
        self.say(f"{self._verb} {self._n_written:,} lines in {elapsed_s:.1f} s ({rate:.1f} lines/s){before}")
        if self._n_split:
            self.say(f"lines of several sentences, which were split and joined again: {self._n_split:,}")
        if self._n_changed:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in self._changes.most_common())
            self.say(f"lines that were read as training had them, see --normalize: {self._n_changed:,} ({kinds})")
        if self._findings:
            kinds = ", ".join(f"{n} {kind}" for kind, n in self._findings.most_common())
            self.say(f"have a look at {self._n_flagged} of them: {kinds}")
        self.report_replaced(n_replaced)

    def report_replaced(self, n_replaced: int) -> None:
        """n_replaced: lines of input that were not UTF-8."""
        if n_replaced:
            self.say(f"{n_replaced} lines of input were not UTF-8; U+FFFD stands for what could not be read")

    def say(self, text: str) -> None:
        """Print a line of its own, unless stderr should be quiet."""
        if not self._is_quiet:
            with suppress(OSError):
                print((ERASE_LINE if self._shows_progress else "") + text, file=sys.stderr)


def _duration(seconds: float) -> str:
    minutes, left_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left_s:02d}"
