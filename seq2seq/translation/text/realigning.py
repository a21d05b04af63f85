"""Word alignment for a line whose translation got things put back."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from seq2seq.translation.text.putting_back import Restored
from seq2seq.translation.text.taking_out import Taken


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
    src_of, tgt_of = _word_indices(line), _word_indices(restored.text)
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


def _word_indices(text: str) -> list[int]:
    """For each character that is not white space, the index of its word; other entries have no meaning."""
    indices, word, is_inside = [], -1, False
    for character in text:
        word += not character.isspace() and not is_inside
        is_inside = not character.isspace()
        indices.append(word)
    return indices


def _words_of_words(text: str, whole: str, holes: Sequence[tuple[int, int]]) -> list[list[int]]:
    """For each word of `text`, the words of `whole` that its letters are in; `whole` has more where the holes are."""
    is_hole = bytearray(len(whole))
    for start, end in holes:
        is_hole[start:end] = b"\1" * (end - start)
    of_whole = _word_indices(whole)
    outside = iter(i for i, character in enumerate(whole) if not is_hole[i] and not character.isspace())
    found: dict[int, dict[int, None]] = defaultdict(dict)
    for i, word in enumerate(_word_indices(text)):
        if not text[i].isspace():
            found[word][of_whole[next(outside)]] = None
    return [list(found[word]) for word in range(len(found))]
