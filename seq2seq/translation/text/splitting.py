"""Lines longer than a model was trained on, in parts that it can translate, and together again.

Sentences first, then clauses, whole words, and characters: each level only for what the one before left too long.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

CountTokens = Callable[[Sequence[str]], list[int]]

# fmt: off
_ABBREVIATIONS = {
    "m", "mm", "mme", "mmes", "mlle", "mr", "mrs", "ms", "dr", "prof", "st", "ste", "p", "ex", "cf", "etc", "e.g",
    "i.e", "p.ex", "n°", "vol", "art", "fig", "jr", "sr", "vs", "av", "bd", "z.b", "d.h", "bzw", "ca", "nr", "hr",
    "fr", "str", "usw",
}
# fmt: on
_BEFORE_NUMBERS = {"no", "nos", "pp", "ch", "chap", "sec", "tab", "eq"}  # some of them are words elsewhere: "No."
_CJK_ENDS = "。！？｡"
_SENTENCE_END = re.compile(
    # Looking back for a mark keeps a long row of them linear: else each begins a search to the end of the row.
    r"(?<![.!?…؟۔।॥])[.!?…؟۔।॥]+(?:[\u00a0\u202f ]?[»›]|[\"'”’)\]])*(?=\s)"
    rf"|[{_CJK_ENDS}]+[」』）”’]*"  # Chinese, Japanese: no space needed
)
_CLAUSE_END = re.compile(r"[;:,)\]»,،؛](?=\s)|[—–](?=\s)|[、，；：）」』]|[\n\r\v\f\x85\u2028\u2029]")
_WORD = re.compile(r"\S+")
_OPENING = "\"'“‘„«‹([-–—¿¡「『"
_UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue"})
_ZWJ = "\u200d"
_LONGEST_SEQUENCE = 64  # characters of one emoji, or of a letter with its marks
_FULL = 0.9  # of a part cut by its length in characters, since tokens are not spread evenly


class Part(NamedTuple):
    """A piece of a line, without the white space around it."""

    text: str
    start: int  # characters before it in the line


class _Span(NamedTuple):
    start: int
    end: int
    n_tokens: int


def split_line(text: str, max_tokens: int, count_tokens: CountTokens) -> list[Part]:
    """Parts of `text` of at most `max_tokens` tokens each, in order; only white space between them is left out.

    Each sentence is a part of its own, since a sentence model translates sentences best; a fragment of one or two
    words ("Oui !") stays with its neighbour where both fit. "3. Januar" is cut: an ordinal looks like the end
    of a sentence. A single character of more than `max_tokens` tokens is a part all the same.

    Args:
        max_tokens: at least 1.
        count_tokens: tokens of each of many texts, special ids included if the limit includes them.
    Raises:
        ValueError: max_tokens below 1.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens={max_tokens}; a part needs at least 1 token")
    spans = _counted(text, _cut(text, 0, len(text), _sentence_ends(text)), count_tokens)
    spans = _pack(spans, max_tokens, lambda a, b: _is_short(text, a) or _is_short(text, b))
    for cut in (_clauses, _words):
        spans = _refine(text, spans, cut, max_tokens, count_tokens)
    pieces: list[tuple[int, int]] = []
    for span in spans:
        if span.n_tokens > max_tokens:
            pieces += _cut(text, span.start, span.end, _windows(text, span, max_tokens))
        else:
            pieces.append((span.start, span.end))
    return [Part(text[a:b], a) for a, b in _within(text, pieces, max_tokens, count_tokens)]


def rejoin(parts: Sequence[str], lang: str) -> str:
    """The translated parts as one line: a space between two of them, none in languages written without spaces."""
    return ("" if re.split("[-_]", lang.lower())[0] in _UNSPACED else " ").join(parts)


def _sentence_ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        if match[0][0] in _CJK_ENDS:
            yield match.end()
            continue
        after = re.compile(r"\s+").match(text, match.end())
        assert after is not None  # the pattern looked ahead
        if after.end() == len(text) or not _can_begin(text[after.end()]):
            continue
        if match[0] == "." and _is_abbreviation(text, match.start(), text[after.end()]):
            continue
        yield match.end()


def _can_begin(character: str) -> bool:
    is_caseless = character.isalpha() and character.lower() == character.upper()
    return character.isupper() or character.isdigit() or is_caseless or character in _OPENING


def _is_abbreviation(text: str, dot: int, following: str) -> bool:
    # 12 characters hold every abbreviation; a longer look back would be quadratic on a line without spaces.
    found = re.search(r"(?:^|[\s(\[«\"'’-])([^\s(\[«\"'’-]+)$", text[max(0, dot - 12) : dot])
    if found is None:
        return False
    word = found[1]
    are_initials = all(len(part) == 1 and part.isupper() for part in word.split("."))  # J, U.S
    is_numbered = following.isdigit() and word.lower() in _BEFORE_NUMBERS
    return are_initials or is_numbered or word.lower() in _ABBREVIATIONS


def _clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return _cut(text, start, end, (match.end() for match in _CLAUSE_END.finditer(text, start, end)))


def _words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [match.span() for match in _WORD.finditer(text, start, end)]


def _windows(text: str, span: _Span, max_tokens: int) -> Iterator[int]:
    """Where to cut a span without spaces, so that most parts are nearly full; a part may still be too long."""
    size = max(1, int(_FULL * max_tokens * (span.end - span.start) / span.n_tokens))
    start = span.start
    while start + size < span.end:
        start = _cut_near(text, start, start + size, span.end)
        yield start


def _cut_near(text: str, start: int, place: int, end: int) -> int:
    """Where to cut without separating marks from a letter, or the parts of an emoji or of a flag.

    Returns:
        The last such place up to `place`, else the next one after it, else `place`.
    """
    # As long as a sane sequence could be; looking further would be quadratic on rows of marks.
    before = range(place, max(start, place - _LONGEST_SEQUENCE), -1)
    after = range(place + 1, min(end, place + _LONGEST_SEQUENCE))
    return next((i for i in chain(before, after) if not _continues(text, start, i)), place)


def _continues(text: str, start: int, i: int) -> bool:
    """Whether text[i] belongs to the character before it; a character begins at `start`."""
    character = text[i]
    if _is_flag_letter(character):  # two of them are a flag
        first = next((j for j in range(i, start, -1) if not _is_flag_letter(text[j - 1])), start)
        return (i - first) % 2 == 1 or text[i - 1] == _ZWJ
    is_skin_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    is_tag = "\U000e0020" <= character <= "\U000e007f"  # of the flags of England, Scotland and Wales
    is_mark = unicodedata.category(character).startswith("M")
    return _ZWJ in (character, text[i - 1]) or is_skin_tone or is_tag or is_mark


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _cut(text: str, start: int, end: int, places: Iterator[int]) -> list[tuple[int, int]]:
    """The stretches of text[start:end] between `places`, trimmed; blank ones are left out."""
    spans = []
    for place in [*places, end]:
        piece = text[start:place]
        if piece.strip():
            spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
        start = place
    return spans


def _counted(text: str, pieces: list[tuple[int, int]], count_tokens: CountTokens) -> list[_Span]:
    counts = count_tokens([text[a:b] for a, b in pieces])
    return [_Span(a, b, n) for (a, b), n in zip(pieces, counts, strict=True)]


def _is_short(text: str, span: _Span) -> bool:
    if any(mark in _CJK_ENDS for mark in text[span.start : span.end]):
        return span.end - span.start <= 5  # 是的。
    return span.end - span.start <= 20 and len(text[span.start : span.end].split()) <= 2


def _pack(spans: list[_Span], max_tokens: int, may_join: Callable[[_Span, _Span], bool]) -> list[_Span]:
    packed: list[_Span] = []
    for span in spans:
        if packed and packed[-1].n_tokens + span.n_tokens <= max_tokens and may_join(packed[-1], span):
            last = packed.pop()
            span = _Span(last.start, span.end, last.n_tokens + span.n_tokens)
        packed.append(span)
    return packed


def _refine(
    text: str,
    spans: list[_Span],
    cut: Callable[[str, int, int], list[tuple[int, int]]],
    max_tokens: int,
    count_tokens: CountTokens,
) -> list[_Span]:
    """`spans` with each one that is too long replaced by what `cut` makes of it, packed as full as fits."""
    cuts = [cut(text, span.start, span.end) if span.n_tokens > max_tokens else [] for span in spans]
    counted = iter(_counted(text, [piece for pieces in cuts for piece in pieces], count_tokens))
    refined = []
    for span, pieces in zip(spans, cuts, strict=True):
        refined += _pack([next(counted) for _ in pieces], max_tokens, lambda a, b: True) if pieces else [span]
    return refined


def _within(
    text: str, pieces: list[tuple[int, int]], max_tokens: int, count_tokens: CountTokens
) -> list[tuple[int, int]]:
    """`pieces` with those halved, and halved again, whose tokens are more than their words' or characters' were."""
    done: list[tuple[int, int]] = []
    while pieces:
        longer: list[tuple[int, int]] = []
        for span in _counted(text, pieces, count_tokens):
            if span.n_tokens <= max_tokens or span.end - span.start == 1:
                done.append((span.start, span.end))
            else:
                middle = (span.start + span.end) // 2
                spaces = (i for i in range(middle, span.start, -1) if text[i].isspace())
                place = next(spaces, None) or _cut_near(text, span.start, middle, span.end)
                longer += _cut(text, span.start, span.end, iter([place]))
        pieces = longer
    return sorted(done)
