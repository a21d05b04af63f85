"""How well links between words agree with reference links (Och and Ney 2003), and the files that hold reference links.

A file has a line for each pair of lines, with links "SOURCE-TARGET", words counted from 0 (the format of Pharaoh and
fast_align). A link that is only possible is written with "?" or "p": "3?4", "3p4".
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seq2seq.characters import split_words
from seq2seq.corpus.reader import read_lines
from seq2seq.errors import CorpusError
from seq2seq.inspection.word_aligner import Links

_LINK = re.compile(r"(\d+)([-?p])(\d+)", re.ASCII)
_APART = 1 << 32  # more than a line has words


@dataclass(frozen=True)
class Reference:
    """The links of one pair: the sure ones, and the possible ones, the sure ones among them."""

    sure: Links
    possible: Links


@dataclass
class LinkCounts:
    """What of proposed links is in the reference: one count for each of several systems at once, such as heads.

    Attributes:
        found: proposed links of each system.
        sure, possible: those of them that the reference has so.
        n_sure: sure links of the reference.
    """

    found: NDArray[np.int64]
    sure: NDArray[np.int64]
    possible: NDArray[np.int64]
    n_sure: int = 0

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> "LinkCounts":
        """Nothing yet, of systems in an array of this shape."""
        found, sure, possible = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        return cls(found, sure, possible)

    def add(self, chosen: NDArray[np.int64], words: NDArray[np.int64], reference: Reference) -> None:
        """Count one pair.

        Args:
            chosen: the source word that each system links a target word to, (..., target words).
            words: the target words that `chosen` is about, in its order.
        """
        proposed = words * _APART + chosen
        self.found += len(words)
        self.sure += np.isin(proposed, _numbers(reference.sure)).sum(-1)
        self.possible += np.isin(proposed, _numbers(reference.possible)).sum(-1)
        self.n_sure += len(reference.sure)

    @property
    def error_rate(self) -> NDArray[np.float64]:
        """AER = 1 - (|A n S| + |A n P|) / (|A| + |S|): 0 is best, 1 is worst."""
        total = np.maximum(self.found + self.n_sure, 1)
        rate: NDArray[np.float64] = 1 - (self.sure + self.possible) / total
        return rate

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of the proposed links that are possible."""
        share: NDArray[np.float64] = self.possible / np.maximum(self.found, 1)
        return share

    @property
    def recall(self) -> NDArray[np.float64]:
        """The share of the sure links that were proposed."""
        share: NDArray[np.float64] = self.sure / max(self.n_sure, 1)
        return share


def read_links(path: Path, pairs: list[tuple[str, str]]) -> list[Reference]:
    """The reference links of each pair of lines.

    Raises:
        CorpusError: a line is not of links, names a word that is not there, or there are not as many lines as pairs.
    """
    lines = list(read_lines(path))
    if len(lines) != len(pairs):
        raise CorpusError(
            f"{path} has {len(lines)} lines for {len(pairs)} pairs; give the links of each pair on a line"
        )
    return [
        _parsed(line, len(split_words(src)), len(split_words(tgt)), f"{path}:{number}")
        for number, (line, (src, tgt)) in enumerate(zip(lines, pairs, strict=True), start=1)
    ]


def _parsed(line: str, n_src: int, n_tgt: int, where: str) -> Reference:
    sure: Links = set()
    possible: Links = set()
    for word in line.split():
        if not (match := _LINK.fullmatch(word)):
            raise CorpusError(
                f"{where}: {word[:40]!r} is not a link; write SOURCE-TARGET, such as 0-1, or 0?1 if unsure"
            )
        link = int(match[1]), int(match[3])
        if link[0] >= n_src or link[1] >= n_tgt:
            raise CorpusError(
                f"{where}: {word} names a word that is not there: the pair has {n_src} and {n_tgt} words, which are "
                "what white space separates, counted from 0"
            )
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Reference(sure, possible)


def _numbers(links: Links) -> list[int]:
    """Links as single numbers, to look for many at once."""
    return [tgt * _APART + src for src, tgt in links]
