"""Split lines that are too long for a model into parts that it can translate, and join the translations.

A line is split into sentences. Sentences that are still too long are split into clauses, these into words, and these
into characters.
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
_BEFORE_NUMBERS = {"no", "nos", "pp", "ch", "chap", "sec", "tab", "eq"}  # only there: elsewhere, "No." is a word
_CJK_ENDS = "。！？｡"
_SENTENCE_END = re.compile(
    # The look-behind keeps a long row of marks linear: else each mark begins a search to the end of the row.
    r"(?<![.!?…؟۔।॥])[.!?…؟۔।॥]+(?:[\u00a0\u202f ]?[»›]|[\"'”’)\]])*(?=\s)"
    rf"|[{_CJK_ENDS}]+[」』）”’]*"  # Chinese, Japanese: no space needed
)
_CLAUSE_END = re.compile(r"[;:,)\]»,،؛](?=\s)|[—–](?=\s)|[、，；：）」』]|[\n\r\v\f\x85\u2028\u2029]")
_WORD = re.compile(r"\S+")
_OPENING = "\"'“‘„«‹([-–—¿¡「『"
_UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue"})
_ZWJ = "\u200d"
_LONGEST_SEQUENCE = 64  # characters of one emoji, or of a letter with its marks
_FULL = 0.9  # how full a part cut by characters should be, since tokens are not spread evenly over them


class Part(NamedTuple):
    """A piece of a line, without the white space around it."""

    text: str
    start: int  # characters before it in the line


class _Span(NamedTuple):
    start: int
    end: int
    n_tokens: int


def split_line(text: str, max_tokens: int, count_tokens: CountTokens) -> list[Part]:
    """Split `text` into parts of at most `max_tokens` tokens, in order. Only white space between them is left out.

    Each sentence is a part of its own, since a model trained on sentences translates them best. A fragment of one or
    two words ("Oui !") stays with its neighbour if both fit. "3. Januar" is cut, since an ordinal looks like the end of
    a sentence. A single character of more than `max_tokens` tokens is still one part.

    Args:
        max_tokens: at least 1.
        count_tokens: counts the tokens of each text, and special ids if the limit includes them.
    Raises:
        ValueError: max_tokens is below 1.
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
    """Join translated parts to one line, with spaces between them unless the language is written without."""
    return ("" if re.split("[-_]", lang.lower())[0] in _UNSPACED else " ").join(parts)


def _sentence_ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        if match[0][0] in _CJK_ENDS:
            yield match.end()
            continue
        after = re.compile(r"\s+").match(text, match.end())
        assert after is not None  # the pattern looked ahead for white space
        if after.end() == len(text) or not _can_begin(text[after.end()]):
            continue
        if match[0] == "." and _is_abbreviation(text, match.start(), text[after.end()]):
            continue
        yield match.end()


def _can_begin(character: str) -> bool:
    is_caseless = character.isalpha() and character.lower() == character.upper()
    return character.isupper() or character.isdigit() or is_caseless or character in _OPENING


def _is_abbreviation(text: str, dot: int, following: str) -> bool:
    # 12 characters hold every abbreviation. Looking further back would be quadratic on a line without spaces.
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
    """Where to cut a span without spaces, so that most parts are nearly full. A part may still be too long."""
    size = max(1, int(_FULL * max_tokens * (span.end - span.start) / span.n_tokens))
    start = span.start
    while start + size < span.end:
        start = _cut_near(text, start, start + size, span.end)
        yield start


def _cut_near(text: str, start: int, place: int, end: int) -> int:
    """A place to cut that separates no mark from its letter, and no part of an emoji or of a flag.

    Returns:
        The last such place up to `place`, else the next one after it, else `place`.
    """
    # No sensible sequence is longer. Looking further would be quadratic on rows of marks.
    before = range(place, max(start, place - _LONGEST_SEQUENCE), -1)
    after = range(place + 1, min(end, place + _LONGEST_SEQUENCE))
    return next((i for i in chain(before, after) if not _continues(text, start, i)), place)


def _continues(text: str, start: int, i: int) -> bool:
    """Whether text[i] belongs to the character before it; a character begins at `start`."""
    character = text[i]
    if _is_flag_letter(character):  # two of them are a flag
        row_start = next((j for j in range(i, start, -1) if not _is_flag_letter(text[j - 1])), start)
        return (i - row_start) % 2 == 1 or text[i - 1] == _ZWJ
    is_skin_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    is_tag = "\U000e0020" <= character <= "\U000e007f"  # of the flags of England, Scotland and Wales
    is_mark = unicodedata.category(character).startswith("M")
    return _ZWJ in (character, text[i - 1]) or is_skin_tone or is_tag or is_mark


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _cut(text: str, start: int, end: int, places: Iterator[int]) -> list[tuple[int, int]]:
    """The spans of text[start:end] between `places`, without white space around them and without blank ones."""
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
    """Replace each span that is too long by the pieces that `cut` makes of it, packed as full as fits."""
    cuts = [cut(text, span.start, span.end) if span.n_tokens > max_tokens else [] for span in spans]
    counted = iter(_counted(text, [piece for pieces in cuts for piece in pieces], count_tokens))
    refined = []
    for span, pieces in zip(spans, cuts, strict=True):
        refined += _pack([next(counted) for _ in pieces], max_tokens, lambda a, b: True) if pieces else [span]
    return refined


def _within(
    text: str, pieces: list[tuple[int, int]], max_tokens: int, count_tokens: CountTokens
) -> list[tuple[int, int]]:
    """Halve pieces, again and again, until each one fits.

    A packed piece may have more tokens than its words had one by one, and characters may have more than expected.
    """
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
