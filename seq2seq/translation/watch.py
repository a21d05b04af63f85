"""Progress, warnings and a last report of a translation, on stderr."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from seq2seq.exit_status import note
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.result import Scored, Translation

MAX_SHOWN_WARNINGS = 20
_INTERVAL_S = 0.5  # between two lines of progress
_FINDING, _CHANGE = "finding: ", "change: "  # and a kind: what they count


@dataclass
class Watch:
    """Counts lines and warnings, and shows progress.

    Attributes:
        n_lines: lines of the whole input; None if that is not known before the end.
        verb: what is done to the lines.
        has_glossary: whether to report on its terms.
        counts: of what this process has done: lines of the input, of which `flagged` have warnings, `changed` were
            changed before, `split` were translated in parts and `not UTF-8` were damaged; warnings and changes of each
            kind; and the terms of the glossary.
    """

    n_lines: int | None
    is_quiet: bool
    shows_progress: bool
    verb: str = "translated"
    has_glossary: bool = False
    counts: Counter[str] = field(default_factory=Counter, init=False)
    _n_found: float = field(default=0.0, init=False)  # lines that the search is done with
    _n_warnings: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._begin_s = self._shown_s = time.monotonic()

    def count_found(self, n_lines: float, n_passed: int = 0) -> None:
        """Show progress, at most twice a second.

        Args:
            n_passed: lines that an earlier run has done, or that others do.
        """
        self._n_found += n_lines
        now_s = time.monotonic()
        if not self.shows_progress or now_s - self._shown_s < _INTERVAL_S:
            return
        self._shown_s = now_s
        rate = self._n_found / (now_s - self._begin_s)
        whole = left = ""
        if self.n_lines and rate:
            left_s = max(0.0, self.n_lines - n_passed - self._n_found) / rate
            whole, left = f" of {self.n_lines:,}", f", {timedelta(seconds=round(left_s))} left"
        note(f"{n_passed + self._n_found:,.0f}{whole} lines, {rate:.1f} lines/s{left}", end="")

    def count_block(self, lines: Iterable[tuple[Piece, Sequence[Translation | Scored]]]) -> Counter[str]:
        """Count the lines of a block, which have a result for each text, and warn of what was found in them."""
        counts = Counter[str]()
        for piece, results in lines:
            findings = [*piece.findings, *(finding for result in results for finding in result.findings)]
            changes = dict.fromkeys(change.kind for result in results for change in result.changes)
            translations = [result for result in results if isinstance(result, Translation)]
            counts["lines"] += max(1, piece.source.count("\n"))
            counts["flagged"] += bool(findings)
            counts["changed"] += bool(changes)
            counts["split"] += any(len(each.parts) > 1 for each in translations)
            counts["terms"] += sum(each.n_terms for each in translations)
            counts.update([_FINDING + finding.kind for finding in findings])
            counts.update([_CHANGE + kind for kind in changes])
            for finding in findings:
                self._n_warnings += 1
                if self._n_warnings <= MAX_SHOWN_WARNINGS:
                    self.say(f"warning: line {piece.line}: {finding.message}")
                elif self._n_warnings == MAX_SHOWN_WARNINGS + 1:
                    self.say("warning: further warnings are counted, but not shown")
        self.counts += counts
        return counts

    def report(self, total: Counter[str] | None = None) -> None:
        """Print the last lines.

        Args:
            total: what was counted in the whole text, if this process has not done all of it.
        """
        own, total = self.counts, total or self.counts
        elapsed_s = time.monotonic() - self._begin_s
        rate = own["lines"] / max(elapsed_s, 1e-9)
        n_others = total["lines"] - own["lines"]
        others = f"; {n_others:,} more by other processes or an earlier run" if n_others else ""
        self.say(f"{self.verb} {own['lines']:,} lines in {elapsed_s:.1f} s ({rate:.1f} lines/s){others}")
        if total["split"]:
            self.say(f"lines that were split and joined again: {total['split']:,}")
        if total["changed"]:
            kinds = _kinds(total, _CHANGE)
            self.say(f"lines that were read as training had them, see --normalize: {total['changed']:,} ({kinds})")
        if total["terms"]:
            self.say(f"terms of the glossary that were found: {total['terms']:,}")
        elif self.has_glossary:
            self.say(
                "warning: no term of the glossary is in the text; its first column has words of the source language"
            )
        if total["flagged"]:
            self.say(f"have a look at {total['flagged']} of them: {_kinds(total, _FINDING)}")
        if n := own["not UTF-8"]:
            self.say(f"{n} lines of input were not UTF-8; U+FFFD stands for what could not be read")

    def say(self, text: str) -> None:
        """Print a line of its own, unless stderr should be quiet."""
        if not self.is_quiet:
            note(text)


def _kinds(counts: Counter[str], what: str) -> str:
    """How often each kind came, the most frequent first."""
    return ", ".join(f"{n:,} {key.removeprefix(what)}" for key, n in counts.most_common() if key.startswith(what))
