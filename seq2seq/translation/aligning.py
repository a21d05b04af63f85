"""Which words of a translation come from which words of a line, as far as attention tells."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seq2seq.analysis.alignment import of_all_words, word_alignment, words_of_pieces
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.text.origins import Text, word_numbers
from seq2seq.translation.text.putting_back import Place, Restored, Token, put_back, units
from seq2seq.translation.text.splitting import Part
from seq2seq.translation.text.taking_out import Item

Pairs = Iterable[tuple[int, int]]  # of a word of the source and a word of the translation

_WORDS = re.compile(r"\w.*\w", re.DOTALL)


class Rendered(NamedTuple):
    """A part of a text and its translation.

    Attributes:
        text: the part.
        ids: the tokens of the translation.
        weights: (T, S), how much each of them looked at each token of the part; None if nobody asked.
    """

    text: str
    place: Place
    ids: Sequence[int]
    weights: np.ndarray | None


def need_attention(items: Sequence[Item], parts: Sequence[Part]) -> list[bool]:
    """For each part of a text, whether something that was taken out goes back between its words."""
    places = [item.place for item in items]
    needed = []
    for part in parts:
        words = _WORDS.search(part.text) if places else None
        first, stop = (part.start + place for place in words.span()) if words else (0, 0)
        needed.append(bisect_right(places, first) < bisect_left(places, stop))
    return needed


def restore(
    translation: Text, plain: str, text: str, items: Sequence[Item], parts: Sequence[Rendered], tokenizer: Tokenizer
) -> Restored:
    """The translation of a text with what was taken out of it.

    Args:
        translation: `plain`, perhaps with other spaces and quotation marks.
        parts: of `text` and `plain`.
    """
    src_words, tgt_words = units(text), units(plain)
    linked: list[Sequence[int]] = [()] * len(src_words)
    for each in parts:
        src_start, src_end, tgt_start, tgt_end = each.place
        first, stop = (bisect_left(src_words, (place, 0)) for place in (src_start, src_end))
        if each.weights is None:
            whole = range(bisect_left(tgt_words, (tgt_start, 0)), bisect_left(tgt_words, (tgt_end, 0)))
            linked[first:stop] = [whole] * (stop - first)
            continue
        src = [(a + src_start, b + src_start) for a, b in tokenizer.offsets(each.text)]
        tgt = [(a + tgt_start, b + tgt_start) for a, b in tokenizer.target.decoded_offsets(each.ids)]
        n_tgt = len(each.weights)  # the last token of a hypothesis as long as can be has no weights
        found = links(each.weights, units_of_pieces(src_words, src), units_of_pieces(tgt_words, tgt)[:n_tgt])
        for word, best in found.items():
            linked[word] = best
    places = [
        place._replace(tgt_start=translation.place(place.tgt_start), tgt_end=translation.place(place.tgt_end))
        for _, place, *_ in parts
    ]
    return put_back(translation, text, items, places, linked)


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


def word_pairs(text: str, translation: str, parts: Iterable[Rendered], tokenizer: Tokenizer) -> Pairs:
    """Pairs of words of a text and of its translation."""
    src_numbers, tgt_numbers = word_numbers(text), word_numbers(translation)
    for part, (src_start, _, start, end), ids, weights in parts:
        if weights is not None and translation[start:end].strip():
            src = words_of_pieces(part, tokenizer.offsets(part))
            # The last token of a hypothesis as long as can be has no weights.
            tgt = words_of_pieces(translation[start:end], tokenizer.target.decoded_offsets(ids))[: len(weights)]
            for a, b in of_all_words(word_alignment(weights, src, tgt), src, tgt):
                yield src_numbers[src_start] + a, tgt_numbers[start] + b


def pairs_of_line(
    pairs: Pairs, line: str, read: Text, items: Sequence[Item], plain: str, restored: Restored
) -> list[tuple[int, int]]:
    """Pairs of words of `read` and `plain` as pairs of words of the line and of the translation that is complete again.

    What was taken out is aligned with itself.
    """
    src_words = read.words(line)
    tgt_words: dict[int, list[int]] = defaultdict(list)
    for word, of_plain in enumerate(restored.translation.words(plain)):
        for each in of_plain:
            tgt_words[each].append(word)
    found = {(src, tgt) for a, b in pairs for src in src_words[a] for tgt in tgt_words[b]}
    if items:
        src_numbers, tgt_numbers = word_numbers(line), word_numbers(restored.translation.text)
        for item, start in zip(items, restored.starts, strict=True):
            for i, (character, origin) in enumerate(zip(item.text, item.origins, strict=True)):
                if origin >= 0 and not character.isspace():
                    found.add((src_numbers[origin], tgt_numbers[start + i]))
    return sorted(found)
