"""Words without the punctuation around them, and which ones of a translation belong to which of the source.

They are finer than the words that alignments count: things that are put back go between a word and its comma.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2seq.characters import WORD_OR_SIGN

Links = Sequence[Sequence[int]]  # for each word of the source: words of the translation, best first


class Token(NamedTuple):
    """Where a word is, or a sign beside one, in characters."""

    start: int
    end: int
    is_word: bool


def tokens(text: str) -> list[Token]:
    """All of a text but its white space."""
    return [Token(match.start(), match.end(), match[1] is not None) for match in WORD_OR_SIGN.finditer(text)]


def units(text: str) -> list[Token]:
    """The words of a text."""
    return [token for token in tokens(text) if token.is_word]


def units_of_pieces(words: Sequence[Token], offsets: Sequence[tuple[int, int]]) -> list[range]:
    """For each piece, the indices of its words: none for punctuation, several for some characters of Chinese.

    A byte of a longer character belongs to the word of the last byte, which alone has a width.
    """
    found: list[range] = []
    following = range(0)
    for begin, end in reversed(offsets):
        if end > begin:
            following = range(bisect_right(words, begin, key=lambda word: word.end), bisect_left(words, (end,)))
        found.append(following)
    return found[::-1]


def links(
    attention: npt.NDArray[np.floating], src_units: Sequence[range], tgt_units: Sequence[range]
) -> dict[int, list[int]]:
    """For each word of the source, the words of the translation that come from it, best first; at least one.

    Each translated word comes from the word that got most of its attention. A word that has none so is linked to the
    one that looked most at it. Words of one piece have the same links. There are none if one side has no word.

    Args:
        attention: (T, S), see `word_alignment`.
        src_units, tgt_units: of each piece, see `units_of_pieces`.
    """
    src_of, tgt_of = ({words[-1]: words for words in side if words} for side in (src_units, tgt_units))
    src, src_columns = np.unique([words[-1] for words in src_units if words], return_inverse=True)
    tgt, tgt_rows = np.unique([words[-1] for words in tgt_units if words], return_inverse=True)
    if not len(src) or not len(tgt):
        return {}
    mass = np.zeros((len(tgt), len(src)))
    in_words = attention[[len(words) > 0 for words in tgt_units]][:, [len(words) > 0 for words in src_units]]
    np.add.at(mass, (tgt_rows[:, None], src_columns[None, :]), in_words)
    best = mass.argmax(1)
    found: dict[int, list[int]] = {}
    for column, unit in enumerate(src.tolist()):
        rows = np.flatnonzero(best == column)
        rows = rows if len(rows) else mass[:, [column]].argmax(0)
        ordered = tgt[rows[np.argsort(-mass[rows, column], kind="stable")]].tolist()
        images = [image for last in ordered for image in tgt_of[last]]
        found |= dict.fromkeys(src_of[unit], images)
    return found
