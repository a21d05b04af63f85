"""Cut a line into parts that a model can translate, and join their translations.

A line is cut into sentences. Sentences that are too long are cut into clauses, and these between words, or characters.
The white space between parts is kept, so the joined line has it too.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import regex

from seq2seq.characters import CHARACTER, LONE_STOPS, STOPS, UNSPACED, has_spaces_between_sentences
from seq2seq.corpus.sentences import sentence_ends

SPLITS = ("auto", "always", "never")

BREAK = "\u2029"  # Unicode's paragraph separator: between texts that are translated each by itself

Encode = Callable[[Sequence[str]], list[list[int]]]

# Each of these ends a line for some program, so a translation has a space in its place.
LINE_ENDS = str.maketrans(dict.fromkeys("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))

_CLAUSE_ENDS = rf"[[\p{{Terminal_Punctuation}}--{STOPS}]\p{{Pe}}]"
_CLAUSE_END = regex.compile(rf"(?V1)[{_CLAUSE_ENDS}»—–](?=\s)|[{_CLAUSE_ENDS}&&{UNSPACED}]|[\n\r\v\f\x85\u2028\u2029]")
_SPACE = regex.compile(r"\s+")
_NOT_IN_A_WORD = regex.compile(rf"(?V1){UNSPACED}|{LONE_STOPS}")
_LONGEST_CHARACTER = 64  # code points; a longer row of marks is cut
_FULL = 0.9  # how full a part cut by characters should be, since tokens are not spread evenly over them


class Part(NamedTuple):
    """A piece of a line, without the white space around it."""

    text: str
    start: int  # characters before it in the line
    before: str = ""  # the white space between it and the part before; "" for the first part

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Span(NamedTuple):
    start: int
    end: int
    ids: list[int]
    n_sentences: int = 1


@dataclass(frozen=True)
class LineSplitter:
    """How lines are split.

    A model that was trained with one sentence a line translates the first sentence of a line and forgets the others,
    long before the line is too long to be read. So lines are split into as many sentences as training had on a line.

    Attributes:
        encode: the tokens of each text, and special ids if the limit includes them.
        max_tokens: of a part, at least 1; a part may have more only if it is a single character.
        max_sentences: of a part, at least 1; None: as many as fit, so a line that is short enough is one part.
    """

    encode: Encode
    max_tokens: int
    max_sentences: int | None = 1

    def split(self, text: str, ends: Sequence[int] | None = None) -> tuple[list[Part], list[list[int]]]:
        """The parts of a line, in order, and the token ids of each. A line without tokens has no parts.

        White space around the line is left out; all other characters are in a part or between two parts. No part goes
        over a `BREAK`.

        A fragment ("Oui !") counts as a sentence: beside one, a model that was trained on sentences leaves out half of
        what it translates. Marks without a word do not count, and stay with what is before them.

        Args:
            ends: where its sentences end, in order; None: where the rules of `sentence_ends` say.
        """
        parts: list[Part] = []
        ids: list[list[int]] = []
        start = 0
        for whole in text.split(BREAK):
            own_ends: Iterable[int] = sentence_ends(whole)
            if ends is not None:
                own_ends = (
                    end - start for end in ends[bisect_left(ends, start) : bisect_right(ends, start + len(whole))]
                )
            before = BREAK if parts else ""
            spans = self._spans(whole, own_ends)
            done = spans[0].start if spans else 0
            for span in spans:
                if span.ids:  # a part may hold nothing but characters that the tokenizer leaves out
                    place = start + span.start
                    parts.append(Part(whole[span.start : span.end], place, before or whole[done : span.start]))
                    ids.append(span.ids)
                    before = ""
                done = span.end
            start += len(whole) + len(BREAK)
        return parts, ids

    def _spans(self, text: str, ends: Iterable[int]) -> list[_Span]:
        pieces = cut(text, 0, len(text), ends)
        if not pieces:
            return []
        if self.max_sentences is None or len(pieces) <= self.max_sentences:
            whole = self._encoded(text, [(pieces[0][0], pieces[-1][1])])
            if len(whole[0].ids) <= self.max_tokens:
                return whole
        sentences = [span._replace(n_sentences=_has_word(text, span)) for span in self._encoded(text, pieces)]
        spans = _pack(sentences, self.max_tokens, self.max_sentences or len(sentences))
        for end in (_CLAUSE_END, _SPACE):
            spans = [each for span in spans for each in self._shorter(text, span, end)]
        return self._within(text, [(span.start, span.end) for span in spans])

    def _encoded(self, text: str, pieces: list[tuple[int, int]]) -> list[_Span]:
        ids = self.encode([text[a:b] for a, b in pieces])
        return [_Span(a, b, each) for (a, b), each in zip(pieces, ids, strict=True)]

    def _shorter(self, text: str, span: _Span, end: regex.Pattern[str]) -> list[_Span]:
        """A span, or what it is cut into at such ends if it is too long, packed as full as fits."""
        if len(span.ids) <= self.max_tokens:
            return [span]
        pieces = cut(text, span.start, span.end, (match.end() for match in end.finditer(text, span.start, span.end)))
        return _pack(self._encoded(text, pieces), self.max_tokens, len(pieces))

    def _within(self, text: str, pieces: list[tuple[int, int]]) -> list[_Span]:
        """Cut pieces, again and again, until each one fits.

        A packed piece may have more tokens than those in it had one by one, and characters may have more than expected.
        """
        done: list[_Span] = []
        while pieces:
            longer = []
            for span in self._encoded(text, pieces):
                if len(span.ids) <= self.max_tokens or span.end - span.start == 1:
                    done.append(span)
                else:
                    places = list(_even_places(text, span, self.max_tokens)) or [(span.start + span.end) // 2]
                    longer += cut(text, span.start, span.end, places)
            pieces = longer
        return sorted(done)


def n_cut_sentences(ends: Sequence[int], parts: Sequence[Part]) -> int:
    """How many parts end inside a sentence."""
    whole = set(ends)
    return sum(part.end not in whole and BREAK not in following.before for part, following in pairwise(parts))


def sentences(text: str) -> list[Part]:
    """The sentences of a text, however long or short they are."""
    return [Part(text[start:end], start) for start, end in cut(text, 0, len(text), sentence_ends(text))]


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


def _even_places(text: str, span: _Span, max_tokens: int) -> Iterator[int]:
    """Where to cut a span, so that most parts are nearly full: at spaces, else between characters if there are."""
    size = max(1, int(_FULL * max_tokens * (span.end - span.start) / len(span.ids)))
    done, space = span.start, 0
    for character in CHARACTER.finditer(text, span.start, span.end):
        start, end = character.span()
        if text[start].isspace():
            space = start
        while end - done > (size if done < start else max(size, _LONGEST_CHARACTER)):
            done = space if space > done else start if start > done else done + size
            yield done


def cut(text: str, start: int, end: int, places: Iterable[int]) -> list[tuple[int, int]]:
    """The spans of text[start:end] between `places`, without white space around them and without blank ones."""
    spans = []
    for place in [*places, end]:
        piece = text[start:place]
        if piece.strip():
            spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
        start = place
    return spans


def _has_word(text: str, span: _Span) -> bool:
    return any(map(str.isalnum, text[span.start : span.end]))


def _pack(spans: list[_Span], max_tokens: int, max_sentences: int) -> list[_Span]:
    """The spans, as many joined as fit by the sum of their tokens."""
    packed: list[_Span] = []
    n_tokens = 0
    for span in spans:
        n_tokens += len(span.ids)
        if packed and n_tokens <= max_tokens and packed[-1].n_sentences + span.n_sentences <= max_sentences:
            last = packed.pop()
            span = _Span(last.start, span.end, last.ids + span.ids, last.n_sentences + span.n_sentences)
        else:
            n_tokens = len(span.ids)
        packed.append(span)
    return packed
