"""Put the things that were taken out of a line into its translation, each one exactly once.

A tag that opens an element goes before the first word that comes from the words in it, and the one that closes it after
the last. So elements may grow, but they never cross each other if they did not in the line. Anything else goes after
the word that comes from the word before it. What stood at the beginning or the end of a part of the line stays there.
"""

import heapq
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from seq2seq.translation.text.origins import Edit, Text
from seq2seq.translation.text.taking_out import CLOSERS, Item
from seq2seq.translation.text.units import Links, Token, tokens

_NO_BREAK = "\u00a0\u202f"


class Part(NamedTuple):
    """Where a part of the text is, and where its translation is, in characters and without white space around."""

    src_start: int
    src_end: int
    tgt_start: int
    tgt_end: int


class Restored(NamedTuple):
    """A translation that is complete again.

    Attributes:
        starts: where each thing is in it, in characters.
    """

    translation: Text
    starts: list[int]


def put_back(translation: Text, text: str, items: Sequence[Item], parts: Sequence[Part], links: Links) -> Restored:
    """Put `items`, which were taken out of a line, into the translation of the `text` that was left.

    White space around an item is as in the line. That between words of the translation stays.

    Args:
        parts: in order; at least one.
        links: for each of `units(text)`, those of `units(translation)` that come from it, best first. They may
            be empty for words whose part has no word in the translation.
    """
    if not items:
        return Restored(translation, [])
    images = _Images(text, translation.text, parts, links)
    elements = _uncrossed(_elements(items, images), translation.text)
    return _rendered(translation, items, _places(items, images, elements))


class _Images:
    """Where the places between the characters of a text are in its translation.

    A word has the places of the words that come from it, and a mark beside a word that of the same mark beside those.
    """

    def __init__(self, text: str, translation: str, parts: Sequence[Part], links: Links) -> None:
        self._text, self._translation, self._parts = text, translation, parts
        self.src, self.tgt = tokens(text), tokens(translation)
        self.src_words, self._tgt_words = (
            [k for k, token in enumerate(side) if token.is_word] for side in (self.src, self.tgt)
        )
        self.linked = {  # for each word with a translation: the first, last and best token of that
            word: _ends(found, self._tgt_words) for word, found in zip(self.src_words, links, strict=True) if found
        }
        self._carried: dict[tuple[int, int, int], int] = {}

    def following(self, place: int) -> int:
        """Where something goes that follows a word, or stands at the beginning or the end of a part."""
        k = _first(self.src, place) - 1
        if k < 0:
            return self._parts[0].tgt_start
        part = self._part(k)
        if place >= part.src_end:
            return part.tgt_end
        src = range(_first(self.src, part.src_start), _first(self.src, part.src_end))
        tgt = range(_first(self.tgt, part.tgt_start), _first(self.tgt, part.tgt_end))
        word, last = _last(self.src_words, src.start, k + 1), _last(self._tgt_words, tgt.start, tgt.stop)
        if word is None:  # there are only marks before it
            image = self._carry(tgt.start - 1, k, 1, src.start, tgt.start)
            return self.tgt[image].end if image in tgt else part.tgt_start
        if word == _last(self.src_words, src.start, src.stop) and last is not None:
            return self.border(place, last, 1)
        return self.border(place, self.linked[word][2], 1) if word in self.linked else part.tgt_end

    def leading(self, place: int) -> int:
        """Where something goes that precedes a word."""
        k = self._token(place, -1)
        n = bisect_left(self.src_words, k)
        word = self.src_words[n] if n < len(self.src_words) else -1
        if word not in self.linked or self.src[word].start >= self._part(k).src_end:
            return self.following(place)
        return self.border(place, self.linked[word][0], -1)

    def border(self, place: int, image: int, step: int) -> int:
        """Where something begins (step -1) or ends (step 1), the outermost word of whose translation is `image`."""
        k, side = self._token(place, step), step > 0
        token, part, of_image = self.src[k], self._part(k), self.tgt[image]
        edge = part[2 + side]
        is_at_edge = place >= part.src_end if side else place <= part.src_start
        if is_at_edge and self._n_words(edge) == self._n_words(of_image[side]):
            return edge
        if token.start < place < token.end:
            word = self._text[token.start : token.end]
            is_same = word == self._translation[of_image.start : of_image.end]
            return of_image.start + place - token.start if is_same else of_image[side]
        return self.tgt[self._carry(image, k, step)][side]

    def _carry(self, image: int, k: int, step: int, stop: int = 0, first: int = 0) -> int:
        """The image of a mark, if `image` is that of the word that its row of marks begins at."""
        row = []
        while stop <= k < len(self.src) and not self.src[k].is_word and (image, k, step) not in self._carried:
            row.append(k)
            k -= step
        reached = self._carried.get((image, k, step), image)
        for k in reversed(row):
            reached = self._carried[image, k, step] = self._beside(reached, self._text[self.src[k].start], step, first)
        return reached

    def _beside(self, image: int, mark: str, step: int, first: int) -> int:
        """The same mark next to an image, or another one that touches it, all of it: … may become ..."""
        beside = self._mark(image + step)
        if not beside or beside == mark:
            return image + step if beside else image
        ends = sorted((image, image + step))
        if image >= first and self._translation[self.tgt[ends[0]].end : self.tgt[ends[1]].start].strip(_NO_BREAK):
            return image
        while self._mark(image + step) == beside:
            image += step
        return image

    def _mark(self, k: int) -> str:
        """A token of the translation, if it is a mark."""
        is_mark = 0 <= k < len(self.tgt) and not self.tgt[k].is_word
        return self._translation[self.tgt[k].start] if is_mark else ""

    def _part(self, k: int) -> Part:
        """The part that a token is in, or the last one before it."""
        index = bisect_right(self._parts, self.src[k].start, key=lambda part: part.src_start) - 1
        return self._parts[max(0, index)]

    def _token(self, place: int, step: int) -> int:
        """The token that a place is in, or the one before (step 1) or after it (step -1)."""
        k = _first(self.src, place)
        return k - 1 if step > 0 or (k and self.src[k - 1].end > place) else k

    def _n_words(self, offset: int) -> int:
        """How many words of the translation begin before an offset."""
        return bisect_left(self._tgt_words, _first(self.tgt, offset))


def _first(of: Sequence[Token], place: int) -> int:
    """How many tokens begin before a place."""
    return bisect_left(of, (place,))


def _last(words: Sequence[int], start: int, stop: int) -> int | None:
    """The last one of the words between two tokens."""
    n = bisect_left(words, stop)
    return words[n - 1] if n and words[n - 1] >= start else None


def _ends(linked: Sequence[int], words: Sequence[int]) -> tuple[int, int, int]:
    """The first and the last of the linked words, and the last one that follows the best of them without a gap."""
    if isinstance(linked, range):
        return words[linked[0]], words[linked[-1]], words[linked[-1]]
    best, distinct = linked[0], set(linked)
    while best + 1 in distinct:
        best += 1
    return words[min(linked)], words[max(linked)], words[best]


_Spans = dict[int, tuple[int, int]]  # by opening tag: where an element begins and ends in the translation


@dataclass
class _Open:
    """An element that is open, with what was found in it so far."""

    first: int = sys.maxsize  # word of its translation
    last: int = -1
    begin: int = sys.maxsize  # of elements in it
    end: int = -1

    def add(self, first: int, last: int) -> None:
        self.first, self.last = min(self.first, first), max(self.last, last)


def _elements(items: Sequence[Item], images: _Images) -> _Spans:
    """Where the elements are that have words."""
    spans: _Spans = {}
    around = [_Open()]
    words = iter(images.src_words)
    word = next(words, None)
    before: int | None = None
    for i, item in enumerate(items):
        while word is not None and images.src[word].start < item.place:
            if word in images.linked:
                around[-1].add(*images.linked[word][:2])
            before, word = word, next(words, None)
        if item.partner is not None and item.partner > i:
            around.append(_Open())
            if before in images.linked and images.src[before].end > item.place:  # it begins inside a word
                around[-1].add(*images.linked[before][:2])
        elif item.partner is not None:
            inner, outer = around.pop(), around[-1]
            if inner.first <= inner.last:
                opening = items[item.partner].place
                inner.begin = min(inner.begin, images.border(opening, inner.first, -1))
                inner.end = max(inner.end, images.border(item.place, inner.last, 1))
                spans[item.partner] = inner.begin, inner.end
                outer.add(inner.first, inner.last)
                outer.begin, outer.end = min(outer.begin, inner.begin), max(outer.end, inner.end)
    return spans


def _uncrossed(spans: _Spans, translation: str) -> _Spans:
    """Spans none of which begins in another one and ends after it: such a one begins after the end of the other."""
    heap = [(begin, -end, opening) for opening, (begin, end) in spans.items()]
    heapq.heapify(heap)
    found: _Spans = {}
    around: list[int] = []  # where they end
    while heap:
        begin, minus_end, opening = heapq.heappop(heap)
        while around and around[-1] <= begin:
            around.pop()
        if around and -minus_end > around[-1]:
            heapq.heappush(heap, (around[-1] + _n_spaces(translation, around[-1]), minus_end, opening))
            continue
        around.append(-minus_end)
        found[opening] = begin, -minus_end
    return found


class _Place(NamedTuple):
    offset: int  # in the translation
    leads: bool  # belongs to what comes after the offset
    item: int


def _places(items: Sequence[Item], images: _Images, elements: _Spans) -> list[_Place]:
    """Where each item goes, in the order of the result: as in the line, but tags so that elements do not cross."""
    offsets: list[int] = []
    leads = [item.leads for item in items]
    for i, item in enumerate(items):
        own = i if i in elements else item.partner
        if own in elements:
            offsets.append(elements[own][own != i])
            continue
        is_tag = item.partner is not None  # of an element without a word
        offsets.append(images.leading(item.place) if item.leads and not is_tag else images.following(item.place))
        if item.partner is not None and item.partner < i:
            offsets[i] = max(offsets[i], offsets[item.partner])
            if offsets[i] == offsets[item.partner]:  # an element without a word: both follow what is before
                leads[i] = leads[item.partner] = False
    # Where several tags come together, outer elements begin before inner ones, and end after them.
    rank: dict[int | None, int] = {}
    for n, opening in enumerate(sorted(elements, key=lambda i: (elements[i][0], -elements[i][1], i))):
        rank |= {opening: n, items[opening].partner: -n}
    groups: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for i in range(len(items)):
        groups[offsets[i], leads[i]].append(i)
    places = []
    for (offset, is_leading), indices in sorted(groups.items()):
        tags = iter(sorted((i for i in indices if i in rank), key=lambda i: rank[i]))
        places += [_Place(offset, is_leading, next(tags) if i in rank else i) for i in indices]
    return places


def _rendered(translation: Text, items: Sequence[Item], places: Iterable[_Place]) -> Restored:
    text = translation.text
    edits: list[Edit] = []
    starts = [0] * len(items)
    done = n_more = 0  # how much of the translation, and how much longer that became
    for (offset, leads), group in groupby(places, key=lambda place: place[:2]):
        row = [place.item for place in group]
        first, last = items[row[0]], items[row[-1]]
        begin = end = max(offset, done)
        before, new = text[done:begin], ""
        if leads and first.leads and first.gap is not None and _are_alike(first.left, before.rstrip()[-1:]):
            begin, new = done + len(before.rstrip()), first.gap
        elif not first.leads and before[-1:].isalnum() and first.partner is None:
            new = " " if not first.space and not first.left.isalnum() else ""  # no sign is made a part of a word
        for i in row:
            item = items[i]
            if not item.leads and begin + n_more + len(new):
                new += item.space
            starts[i] = begin + n_more + len(new)
            new += item.text
            if item.leads and end < len(text):
                new += item.space
        if not last.leads:
            rest = end + _n_spaces(text, end)
            after = text[rest : rest + 1]
            if last.gap is None:
                touches = rest == end and after.isalnum() and not last.right.isalnum()
                new += " " if touches and last.partner is None else ""
            elif after and _are_alike(last.right, after):
                end, new = rest, new + last.gap
            elif after and rest == end and after not in CLOSERS:
                new += last.gap
        edits.append(Edit(begin, end, new))
        n_more += len(new) - (end - begin)
        done = end
    return Restored(translation.edited(edits), starts)


def _n_spaces(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end].isspace():
        end += 1
    return end - start


def _are_alike(a: str, b: str) -> bool:
    return bool(a) == bool(b) and a.isalnum() == b.isalnum()
