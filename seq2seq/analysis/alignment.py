"""Which source word each translated word comes from, as far as attention tells.

The words of a line are `characters.split_words(line)`: what white space separates, or characters where there is none.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from seq2seq.characters import word_spans


def words_of_pieces(text: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """For each piece, the index of its last word in `text`, counted from 0. `text` must have a word.

    A piece belongs to the word of its last character that is not a space. A piece without such a character, such as a
    lone "▁" or a byte of a longer character, belongs to the word of the piece after it.

    Args:
        offsets: where each piece begins and ends in `text`, in characters.
    """
    starts = [start for start, _ in word_spans(text)]
    words: list[int] = []
    following = len(starts) - 1
    for begin, end in reversed(offsets):
        end = begin + len(text[begin:end].rstrip())
        if end > begin:
            following = bisect_left(starts, end) - 1
        words.append(following)
    return words[::-1]


def word_alignment(
    attention: npt.NDArray[np.floating], src_words: Sequence[int], tgt_words: Sequence[int]
) -> list[tuple[int, int]]:
    """Pairs (source word, target word): for each target word, the source word that got most of its attention.

    Attention is no alignment: it may look at the word before or after the one translated, or at the end of the
    sentence (Koehn and Knowles 2017), and it matters which layer is averaged (Garg et al. 2019). Read the pairs as a
    hint, not as a fact.

    Args:
        attention: (T, S), the row of a target piece says how much it attends to each source piece; without the
            column and row of eos.
        src_words, tgt_words: of each piece, see `words_of_pieces`. A word without pieces is in no pair.
    """
    assert attention.shape == (len(tgt_words), len(src_words)), "special ids have rows and columns, too"
    if not src_words or not tgt_words:
        return []
    mass = np.zeros((max(tgt_words) + 1, max(src_words) + 1))
    np.add.at(mass, (np.array(tgt_words)[:, None], np.array(src_words)[None, :]), attention)
    return sorted((int(mass[tgt].argmax()), tgt) for tgt in set(tgt_words))


def membership(word_of: Sequence[int]) -> npt.NDArray[np.float32]:
    """(pieces, words): 1 where a piece belongs to a word."""
    return np.eye(max(word_of) + 1, dtype=np.float32)[list(word_of)]


def of_all_words(
    pairs: Iterable[tuple[int, int]], src_words: Iterable[int], tgt_words: Iterable[int]
) -> set[tuple[int, int]]:
    """The pairs, also of words that are in a piece with the word after them: each character of Chinese."""
    src_of, tgt_of = up_to(src_words), up_to(tgt_words)
    return {(a, b) for src, tgt in pairs for a in src_of.get(src, ()) for b in tgt_of[tgt]}


def up_to(words: Iterable[int]) -> dict[int, range]:
    """For each last word of a piece, the words since the one before."""
    return {word: range(before + 1, word + 1) for before, word in pairwise([-1, *sorted(set(words))])}


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """The pairs in the format of Pharaoh and fast_align: "0-0 1-2", source before target."""
    return " ".join(f"{src}-{tgt}" for src, tgt in sorted(pairs))
