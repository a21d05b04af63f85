"""Words without the punctuation around them, and which ones of a translation belong to which of the source.

They are finer than the words of `analysis/alignment.py`, which white space separates: things that are put back go
between a word and its comma. A word keeps the marks inside it (don't, rendez-vous, 12.5). What is elided before a word
is a word (l'avocat has two), and so is each Chinese or Japanese character.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = (
    r"!-/:-@\[-`{-~\u00a1\u00a6-\u00a9\u00ab-\u00b1\u00b4-\u00b8\u00bb\u00bf\u2010-\u2027\u2030-\u205e\u20a0-\u20cf"
    r"\u2190-\u2bff\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f000-\U0001faff"
)
_LETTER = rf"[^\s{_MARKS}{_CJK}]"
_UNIT = (
    rf"{_LETTER}{{1,2}}['’](?={_LETTER})"
    rf"|{_LETTER}+(?:(?:['’‐‑-]|(?<=\d)[.,:/](?=\d)){_LETTER}+)*"
    rf"|[{_CJK}]"
)
_WORD = re.compile(_UNIT)
_TOKEN = re.compile(rf"({_UNIT})|\S")

Links = Sequence[Sequence[int]]  # for each word of the source: words of the translation, best first


class Unit(NamedTuple):
    """Where a word is, in characters."""

    start: int
    end: int


class Token(NamedTuple):
    """Where a word is, or a mark beside one, in characters."""

    start: int
    end: int
    is_word: bool


def tokens(text: str) -> list[Token]:
    """All of a text but its white space."""
    return [Token(match.start(), match.end(), match.lastindex == 1) for match in _TOKEN.finditer(text)]


def units(text: str) -> list[Unit]:
    """The words of a text."""
    return [Unit(*match.span()) for match in _WORD.finditer(text)]


def units_of_pieces(words: Sequence[Unit], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """For each piece, the index of its word; -1 for a piece of punctuation.

    A byte of a longer character belongs to the word of the last byte, which alone has a width.
    """
    found: list[int] = []
    following = -1
    for begin, end in reversed(offsets):
        if end > begin:
            last = bisect_left(words, (end, 0)) - 1
            following = last if last >= 0 and words[last].end > begin else -1
        found.append(following)
    return found[::-1]


def links(
    attention: npt.NDArray[np.floating], src_units: Sequence[int], tgt_units: Sequence[int]
) -> dict[int, list[int]]:
    """For each word of the source, the words of the translation that come from it, best first; at least one.

    Each translated word comes from the word that got most of its attention. A word that has none so is linked to the
    one that looked most at it. There are no links if one side has no word.

    Args:
        attention: (T, S), see `word_alignment`.
        src_units, tgt_units: of each piece, see `units_of_pieces`.
    """
    src, src_of = np.unique([unit for unit in src_units if unit >= 0], return_inverse=True)
    tgt, tgt_of = np.unique([unit for unit in tgt_units if unit >= 0], return_inverse=True)
    if not len(src) or not len(tgt):
        return {}
    in_words = attention[np.array(tgt_units) >= 0][:, np.array(src_units) >= 0]
    mass = np.zeros((len(tgt), len(src)))
    np.add.at(mass, (tgt_of[:, None], src_of[None, :]), in_words)
    found: dict[int, list[int]] = {int(unit): [] for unit in src}
    for row, col in enumerate(mass.argmax(1)):
        found[int(src[col])].append(row)
    for col, unit in enumerate(src):
        rows = found[int(unit)] or [int(mass[:, col].argmax())]
        found[int(unit)] = [int(tgt[row]) for row in sorted(rows, key=lambda row: -mass[row, col])]
    return found
