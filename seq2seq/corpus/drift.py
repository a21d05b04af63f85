"""Where two files with different numbers of lines stop being translations of each other, line by line.

If one file has `n_more` lines more than the other, line n of the shorter one is the translation of line n before the
place where they are too many, and of line n + n_more after it. Each line is a little evidence for the one or the other:
the same digits, the same names, both blank or both not, lengths as everywhere. The place is where the evidence for n,
added up, is highest. That needs no words of a language, and no spaces.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import log
from statistics import fmean, pstdev

_LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]{3,}")
_DIGIT = re.compile(r"\d")
_SPREAD = 0.3  # of the logarithm of the ratio of lengths, among translations
_HEAD = 5_000  # lines that tell the usual ratio
_MOST = 200_000  # lines that are looked at: ten seconds
_ENOUGH = 6.0  # nats; less evidence says nothing


@dataclass(frozen=True)
class _Line:
    length: float  # logarithm of characters; of a blank line nearly 0
    digits: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "_Line":
        text = text.strip()
        words = frozenset(map(str.casefold, _LATIN_WORD.findall(text)))
        return cls(log(len(text) + 2), "".join(_DIGIT.findall(text)), words)

    @property
    def is_blank(self) -> bool:
        return self.length == log(2)


def drift(shorter: Callable[[], Iterator[str]], longer: Callable[[], Iterator[str]], n_more: int) -> str:
    """Where the lines of two files drift apart, as a clause; empty if nothing says so.

    Args:
        shorter, longer: read the lines of a file from the start.
        n_more: lines that the longer one has more.
    """
    usual = _Usual.of(shorter(), longer())
    total = best = 0.0
    n_fitting, is_new, first, n = 0, True, ("", ""), 0
    beside = zip(shorter(), longer(), islice(longer(), n_more, None), strict=False)
    for n, (one, same, later) in enumerate(islice(beside, _MOST), start=1):
        if is_new:
            first, is_new = (one, same), False
        line = _Line.of(one)
        total += usual.evidence(line, _Line.of(same)) - usual.evidence(line, _Line.of(later))
        if total > best:
            best, n_fitting, is_new = total, n, True
    if best - total >= _ENOUGH:
        return (
            f", and they seem to drift apart near line {n_fitting + 1} (in the shorter one {first[0][:60]!r}, in the "
            f"longer one {first[1][:60]!r})"
        )
    if best >= _ENOUGH:
        return f", and they seem to fit up to line {n}"
    return ""


@dataclass(frozen=True)
class _Usual:
    """What the lengths of two lines are that have nothing to do with each other."""

    ratio: float
    spread: float

    @classmethod
    def of(cls, shorter: Iterable[str], longer: Iterable[str]) -> "_Usual":
        sides = [[_Line.of(text).length for text in islice(lines, _HEAD)] or [0.0] for lines in (shorter, longer)]
        one, other = sides
        return cls(fmean(one) - fmean(other), max((pstdev(one) ** 2 + pstdev(other) ** 2) ** 0.5, 1.2 * _SPREAD))

    def evidence(self, one: _Line, other: _Line) -> float:
        """That they translate each other, in nats. What digits and names weigh is set so that places were found."""
        if one.is_blank or other.is_blank:
            return 3.0 if one.is_blank and other.is_blank else -4.0
        ratio = one.length - other.length - self.ratio
        nats = log(self.spread / _SPREAD) - ((ratio / _SPREAD) ** 2 - (ratio / self.spread) ** 2) / 2
        nats = max(min(nats, 1.0), -2.0)
        if one.digits or other.digits:
            nats += 3.0 if one.digits == other.digits else -1.5
        return nats + 1.5 * (not one.words.isdisjoint(other.words))
