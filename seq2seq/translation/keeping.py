"""What is kept of a line: out before it is split, and back into its translation with the help of attention."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

import numpy as np

from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.text import putting_back
from seq2seq.translation.text.kept import Thing
from seq2seq.translation.text.putting_back import Restored, put_back
from seq2seq.translation.text.rewriting import word_numbers
from seq2seq.translation.text.splitting import Part
from seq2seq.translation.text.taking_out import Taken, take_out
from seq2seq.translation.text.units import links, units, units_of_pieces


def taken_from(line: str, things: Sequence[Thing]) -> Taken:
    """`line` without these things. If no letter is left, and no digit, then nothing is to translate."""
    taken = take_out(line, things)
    if taken.items and not any(map(str.isalnum, taken.text)):
        return Taken("", taken.items)
    return taken


def without(prefix: str, taken: Taken, things: Callable[[str], Sequence[Thing]]) -> str:
    """The beginning of a translation, without what comes back from the line.

    Args:
        things: what of a text is taken out.
    """
    back = Counter(item.text for item in taken.items)
    doubled = []
    for thing in things(prefix) if back else ():
        if back[thing.text]:
            back[thing.text] -= 1
            doubled.append(thing._replace(partner=None))
    return take_out(prefix, doubled).text


def need_attention(taken: Taken, parts: Sequence[Part]) -> list[bool]:
    """For each part of `taken.text`, whether something goes back between its words."""
    places = [item.place for item in taken.items]
    words = units(taken.text) if places else []
    needed = []
    for part in parts:
        first = bisect_left(words, (part.start, 0))
        last = bisect_left(words, (part.start + len(part.text), 0)) - 1
        is_inside = False
        if first < last or (first == last and words[first].end - words[first].start > 1):
            nearest = bisect_left(places, words[first].start + 1)
            is_inside = nearest < len(places) and places[nearest] < words[last].end
        needed.append(is_inside)
    return needed


def restore(
    text: str,
    taken: Taken,
    parts: Sequence[Part],
    spans: Sequence[tuple[int, int]],
    tokenizer: Tokenizer,
    plain: str,
    targets: Sequence[Sequence[int]],
    attention: Sequence[np.ndarray | None],
) -> Restored:
    """Put back what was taken out.

    Args:
        text: the translation of `taken.text`: `plain`, perhaps with other spaces and quotation marks.
        parts: of `taken.text`.
        spans: where the translation of each part is in `plain`, in characters.
        targets: the tokens of the translation of each part.
        attention: (T, S) of each part, without tags; None for those that do not need it.
    """
    src_words, tgt_words = units(taken.text), units(plain)
    linked: list[Sequence[int]] = [()] * len(src_words)
    for part, (begin, end), ids, weights in zip(parts, spans, targets, attention, strict=True):
        first, stop = (bisect_left(src_words, (place, 0)) for place in (part.start, part.start + len(part.text)))
        if weights is None:
            whole = range(bisect_left(tgt_words, (begin, 0)), bisect_left(tgt_words, (end, 0)))
            linked[first:stop] = [whole] * (stop - first)
            continue
        src = [(a + part.start, b + part.start) for a, b in tokenizer.offsets(part.text)]
        tgt = [(a + begin, b + begin) for a, b in tokenizer.decoded_offsets(ids)]
        n_tgt = len(weights)  # the last token of a hypothesis as long as can be has no weights
        found = links(weights, units_of_pieces(src_words, src), units_of_pieces(tgt_words, tgt)[:n_tgt])
        for word, best in found.items():
            linked[word] = best
    places = [
        putting_back.Part(part.start, part.start + len(part.text), begin, end)
        for part, (begin, end) in zip(parts, _respaced(spans, plain, text), strict=True)
    ]
    return put_back(text, taken, places, linked)


def _respaced(spans: Sequence[tuple[int, int]], before: str, after: str) -> list[tuple[int, int]]:
    """Spans of `before` as spans of `after`, which has other spaces between as many characters."""
    if before == after:
        return list(spans)
    n_before = [0, *accumulate(not character.isspace() for character in before)]
    visible = [i for i, character in enumerate(after) if not character.isspace()]
    return [
        (visible[n_before[begin]], visible[n_before[end] - 1] + 1) if before[begin:end].strip() else (0, 0)
        for begin, end in spans
    ]


def realigned(
    pairs: Iterable[tuple[int, int]], line: str, taken: Taken, translation: str, restored: Restored
) -> list[tuple[int, int]]:
    """Pairs (word of `taken.text`, word of `translation`) as pairs of the words of `line` and of what was restored.

    Things are aligned with themselves.
    """
    ends = [(item.start, item.end) for item in taken.items]
    new_ends = [(start, start + len(item.text)) for start, item in zip(restored.starts, taken.items, strict=True)]
    src_words, tgt_words = (
        _words_of_words(taken.text, line, ends),
        _words_of_words(translation, restored.text, new_ends),
    )
    aligned = {(src, tgt) for a, b in pairs for src in src_words[a] for tgt in tgt_words[b]}
    src_of, tgt_of = word_numbers(line), word_numbers(restored.text)
    for (start, end), (new_start, _) in zip(ends, new_ends, strict=True):
        visible = [i for i in range(end - start) if not line[start + i].isspace()]
        aligned |= {(src_of[start + i], tgt_of[new_start + i]) for i in visible}
    return sorted(aligned)


def of_line(pairs: Iterable[tuple[int, int]], words: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Pairs (word of a text, word of its translation) as pairs of the words of the line that the text was made of.

    Args:
        words: for each word of the text, those of the line.
    """
    return sorted({(word, tgt) for src, tgt in pairs for word in words[src]})


def words_with_themselves(text: str) -> list[tuple[int, int]]:
    """The pairs of a text that is its own translation."""
    return [(i, i) for i in range(len(text.split()))]


def _words_of_words(text: str, whole: str, holes: Sequence[tuple[int, int]]) -> list[list[int]]:
    """For each word of `text`, the words of `whole` that its letters are in; `whole` has more where the holes are."""
    is_hole = bytearray(len(whole))
    for start, end in holes:
        is_hole[start:end] = b"\1" * (end - start)
    of_whole = word_numbers(whole)
    outside = iter(i for i, character in enumerate(whole) if not is_hole[i] and not character.isspace())
    found: dict[int, dict[int, None]] = defaultdict(dict)
    for i, word in enumerate(word_numbers(text)):
        if not text[i].isspace():
            found[word][of_whole[next(outside)]] = None
    return [list(found[word]) for word in range(len(found))]
