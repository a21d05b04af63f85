"""Cut a line into parts that a model can translate, and join their translations.

A line is cut into sentences. Sentences that are too long are cut into clauses, these into words, and these into
characters. The white space between parts is kept, so the joined line has it too.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import regex

from seq2seq.characters import LONE_STOPS, STOPS, UNSPACED, has_spaces_between_sentences
from seq2seq.corpus.sentences import sentence_ends

SplitName = Literal["auto", "always", "never"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)

CountTokens = Callable[[Sequence[str]], list[int]]

# Each of these ends a line for some program, so a translation has a space in its place.
LINE_ENDS = str.maketrans(dict.fromkeys("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))

_CLAUSE_ENDS = rf"[[\p{{Terminal_Punctuation}}--{STOPS}]\p{{Pe}}]"
_CLAUSE_END = regex.compile(rf"(?V1)[{_CLAUSE_ENDS}»—–](?=\s)|[{_CLAUSE_ENDS}&&{UNSPACED}]|[\n\r\v\f\x85\u2028\u2029]")
_WORD = re.compile(r"\S+")
_NOT_IN_A_WORD = regex.compile(rf"(?V1){UNSPACED}|{LONE_STOPS}")
# A letter with its marks, an emoji, a flag. By itself, \X looks back to the first flag of a row.
_CHARACTER = regex.compile(r"\p{Regional_Indicator}{2}\p{Grapheme_Extend}*+|\X")
_LONGEST_CHARACTER = 64  # code points; a longer row of marks is cut
_FULL = 0.9  # how full a part cut by characters should be, since tokens are not spread evenly over them


class Part(NamedTuple):
    """A piece of a line, without the white space around it."""

    text: str
    start: int  # characters before it in the line
    before: str = ""  # the white space between it and the part before; "" for the first part


class _Span(NamedTuple):
    start: int
    end: int
    n_tokens: int
    n_sentences: int = 1


def split_line(text: str, max_tokens: int, count_tokens: CountTokens, *, max_sentences: int | None = 1) -> list[Part]:
    """Cut `text` into parts of at most `max_sentences` sentences and `max_tokens` tokens, in order.

    White space around the line is left out; all other characters are in a part or between two parts. A blank line has
    no parts. A single character of more than `max_tokens` tokens is still one part.

    A fragment ("Oui !") counts as a sentence: beside one, a model that was trained on sentences leaves out half of
    what it translates. Marks without a word do not count, and stay with what is before them.

    Args:
        max_tokens: at least 1.
        count_tokens: counts the tokens of each text, and special ids if the limit includes them.
        max_sentences: at least 1; None: as many as fit, so a line that is short enough is one part.
    Raises:
        ValueError: max_tokens or max_sentences is below 1.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens={max_tokens}; a part needs at least 1 token")
    if max_sentences is not None and max_sentences < 1:
        raise ValueError(f"max_sentences={max_sentences}; a part needs at least 1 sentence")
    sentences = _cut(text, 0, len(text), sentence_ends(text))
    if not sentences:
        return []
    whole = sentences[0][0], sentences[-1][1]
    if max_sentences is None or len(sentences) <= max_sentences:
        (span,) = _counted(text, [whole], count_tokens)
        if span.n_tokens <= max_tokens:
            return _parts(text, [whole])
    limit = max_sentences or len(sentences)
    spans = _counted(text, sentences, count_tokens)
    spans = [span._replace(n_sentences=int(_has_word(text, span))) for span in spans]
    spans = _pack(spans, max_tokens, lambda a, b: a.n_sentences + b.n_sentences <= limit)
    for cut in (_clauses, _words):
        spans = _refine(text, spans, cut, max_tokens, count_tokens)
    pieces: list[tuple[int, int]] = []
    for span in spans:
        if span.n_tokens > max_tokens:
            pieces += _cut(text, span.start, span.end, _windows(text, span, max_tokens))
        else:
            pieces.append((span.start, span.end))
    return _parts(text, _within(text, pieces, max_tokens, count_tokens))


def sentences(text: str) -> list[Part]:
    """The sentences of a text, however long or short they are."""
    pieces = _cut(text, 0, len(text), sentence_ends(text))
    return _parts(text, pieces) if pieces else []


def rejoin(translations: Sequence[str], parts: Sequence[Part], tgt_lang: str) -> str:
    """Join the translations of the parts of a line, with the white space of the line between them.

    Line separators become spaces. Chinese and Japanese get none. If the source has no space between two parts, the
    translations get one where the source needs none, as in Chinese, and nothing inside a word.
    """
    is_spaced = has_spaces_between_sentences(tgt_lang)
    joined: list[str] = []
    for i, (translation, part) in enumerate(zip(translations, parts, strict=True)):
        if joined and translation and is_spaced:
            is_word = not _NOT_IN_A_WORD.search(parts[i - 1].text[-2:] + part.text[0])  # two: a stop may be quoted
            joined.append(part.before.translate(LINE_ENDS) or ("" if is_word else " "))
        if translation:
            joined.append(translation)
    return "".join(joined)


def _parts(text: str, pieces: list[tuple[int, int]]) -> list[Part]:
    ends = [pieces[0][0], *(end for _, end in pieces)]
    return [
        Part(text[start:end], start, text[before:start]) for before, (start, end) in zip(ends, pieces, strict=False)
    ]


def _clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return _cut(text, start, end, (match.end() for match in _CLAUSE_END.finditer(text, start, end)))


def _words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [match.span() for match in _WORD.finditer(text, start, end)]


def _windows(text: str, span: _Span, max_tokens: int) -> Iterator[int]:
    """Where to cut a span without spaces, so that most parts are nearly full. A part may still be too long."""
    size = max(1, int(_FULL * max_tokens * (span.end - span.start) / span.n_tokens))
    start = span.start
    for character in _CHARACTER.finditer(text, span.start, span.end):
        if character.end() - start > size and character.start() > start:
            start = character.start()
            yield start
        while character.end() - start > max(size, _LONGEST_CHARACTER):
            start += size
            yield start


def _middle(text: str, start: int, end: int) -> int:
    """Where to cut text[start:end] in two: at a space before the middle, else between two characters if there are."""
    middle = (start + end) // 2
    space = next((i for i in range(middle, start, -1) if text[i].isspace()), None)
    if space is not None:
        return space
    ends = [character.end() for character in _CHARACTER.finditer(text, start, end)]
    if ends[0] > middle:
        return ends[0] if ends[0] < end else middle
    return ends[bisect_right(ends, middle) - 1]


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


def _has_word(text: str, span: _Span) -> bool:
    return any(map(str.isalnum, text[span.start : span.end]))


def _pack(spans: list[_Span], max_tokens: int, may_join: Callable[[_Span, _Span], bool]) -> list[_Span]:
    packed: list[_Span] = []
    for span in spans:
        if packed and packed[-1].n_tokens + span.n_tokens <= max_tokens and may_join(packed[-1], span):
            last = packed.pop()
            n_sentences = last.n_sentences + span.n_sentences
            span = _Span(last.start, span.end, last.n_tokens + span.n_tokens, n_sentences)
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
                longer += _cut(text, span.start, span.end, iter([_middle(text, span.start, span.end)]))
        pieces = longer
    return sorted(done)
