"""What of a line a model has never seen: web addresses, emoji, and characters that the tokenizer has no piece for.

A word with an unknown letter is unknown as a whole: the model could only spell it, in bytes that it never learned to
read. Unknown signs beside it are pieces by themselves. Digits are never unknown, since a number belongs to its
sentence, and neither is a part of a tag or of a placeholder.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence

from seq2seq.translation.text.kept import Thing, things

# Letters, digits and the marks that belong to them, in scripts that have such; U+FFFD stands for what was one.
_LETTER = r"[\w\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u065f\u0900-\u0eff\u1000-\u109f\u1780-\u17ff\ufffd]"
_WORD = rf"{_LETTER}+(?:['’-]{_LETTER}+)*"
_WHOLE = ("markup", "placeholders")  # no sign is taken out of one
_STOPS = ".!?…"
_MARKS = re.compile(r"[,;:.!?…)\]]*")
_TOKEN = re.compile(rf"(?:{_WORD}|[^\w\s])")


def unknown_things(text: str, kinds: Collection[str], has_piece: Callable[[str], bool]) -> list[Thing]:
    """Things of these kinds, and whatever else of `text` is unknown, in order.

    Args:
        has_piece: whether the tokenizer can write a character other than as bytes.
    """
    found = things(text, kinds)
    # Composed, since the tokenizer composes letters and marks by itself.
    unknown = {character for character in set(_composed(text)) if not (character.isdigit() or has_piece(character))}
    if not unknown:
        return found
    return _merged(found, [Thing(text[a:b], a) for a, b in _unknown_spans(text, unknown, found)])


def is_foreign(thing: str) -> bool:
    """Whether something was to be read: it has a letter, and is no address."""
    return any(map(str.isalpha, thing)) and not things(thing, ("urls",))


def _unknown_spans(text: str, unknown: set[str], found: Sequence[Thing]) -> list[tuple[int, int]]:
    """Where unknown words and unknown signs are, outside the things that were found; signs that touch are one."""
    is_taken = bytearray(len(text))
    for thing in (*found, *things(text, _WHOLE)):
        is_taken[thing.start : thing.end] = b"\1" * (thing.end - thing.start)
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if unknown.isdisjoint(_composed(match[0])) or any(is_taken[start:end]):
            continue
        if spans and spans[-1][1] == start and not (text[start - 1].isalnum() or text[start].isalnum()):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return _with_marks(text, spans)


def _with_marks(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, those at the beginning of a sentence with the marks after them: no text should begin with a comma."""
    widened: list[tuple[int, int]] = []
    begins, done = True, 0
    for start, end in spans:
        start = max(start, done)  # some of it may be such marks
        if start >= end:
            continue
        between = text[done:start].rstrip()
        begins = begins if not between.strip() else between[-1] in _STOPS
        if begins and text[end - 1].isalnum():
            marks = _MARKS.match(text, end)
            end = marks.end() if marks else end
        widened.append((start, end))
        done = end
    return widened


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _merged(found: Sequence[Thing], others: Sequence[Thing]) -> list[Thing]:
    """All in order, with partners that still know each other."""
    merged = sorted([*found, *others], key=lambda thing: thing.start)
    index_of = {thing.start: i for i, thing in enumerate(merged)}
    return [
        thing if thing.partner is None else thing._replace(partner=index_of[found[thing.partner].start])
        for thing in merged
    ]
