"""Put the things that were taken out of a line into its translation, each one exactly once.

A tag that opens an element goes before the first word that comes from the words in it, and the one that closes it after
the last. So elements may grow, but they never cross each other if they did not in the line. Anything else goes beside
the word that comes from the word that it was beside. Where marks were between the two, marks are so again. What stood
at the beginning or the end of a part of the line stays there.
"""

import heapq
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import regex

from seq2seq.characters import WORD_OR_SIGN
from seq2seq.translation.text.origins import Edit, Text
from seq2seq.translation.text.taking_out import Item, is_letter

Links = Sequence[Sequence[int]]  # for each word of the source: words of the translation, best first

_OPENER = regex.compile(r"[\p{Ps}\p{Pi}]|(?<![^\s\p{P}])[^\p{Pe}\p{Pf}](?=\w)")
_SPACE = re.compile(r"\s*")


class Token(NamedTuple):
    """Where a word without the punctuation around it is, or a sign beside one, in characters.

    These words are finer than those that alignments count: things go between a word and its comma.
    """

    start: int
    end: int
    is_word: bool


def tokens(text: str) -> list[Token]:
    """All of a text but its white space."""
    return [Token(match.start(), match.end(), match[1] is not None) for match in WORD_OR_SIGN.finditer(text)]


def units(text: str) -> list[Token]:
    """The words of a text."""
    return [token for token in tokens(text) if token.is_word]


class Place(NamedTuple):
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


def put_back(translation: Text, text: str, items: Sequence[Item], parts: Sequence[Place], links: Links) -> Restored:
    """Put `items`, which were taken out of a line, into the translation of the `text` that was left.

    Args:
        parts: in order; at least one.
        links: for each of `units(text)`, those of `units(translation)` that come from it, best first. They may
            be empty for words whose part has no word in the translation.
    """
    images = _Images(_Side(text), _Side(translation.text), parts, links)
    return _rendered(translation, items, _placed(items, images))


class _Side:
    """The words of a text, and the marks between them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.words = [k for k, token in enumerate(self.tokens) if token.is_word]
        # Before each word, and at the end: how many marks belong to what is before them, and how many to what follows.
        self.gaps: list[tuple[int, int]] = []
        for a, b in pairwise([-1, *self.words, len(self.tokens)]):
            opening = next((k for k in range(a + 1, b) if _OPENER.match(text, self.tokens[k].start)), b)
            self.gaps.append((opening - a - 1, b - opening))

    def word_before(self, place: int) -> int:
        """The last word that begins before a place; -1 if there is none."""
        return bisect_left(self.words, place, key=lambda k: self.tokens[k].start) - 1

    def word_after(self, place: int) -> int:
        """The first word that ends after a place, or the number of words."""
        return bisect_right(self.words, place, key=lambda k: self.tokens[k].end)


class _Images:
    """Where the places between the characters of a text are in its translation."""

    def __init__(self, src: _Side, tgt: _Side, parts: Sequence[Place], links: Links) -> None:
        self.src, self._tgt, self._parts = src, tgt, parts
        self.ends = [_ends(linked) for linked in links]

    def of(self, item: Item) -> int:
        """Where something goes that is beside a word, or at the beginning or the end of a part."""
        src, tgt, place = self.src, self._tgt, item.place
        part = self._part(place + item.leads)
        if place <= part.src_start or place >= part.src_end:
            return part.tgt_start if place <= part.src_start else part.tgt_end
        first, last = src.word_after(part.src_start), src.word_before(part.src_end)
        last_image = tgt.word_before(part.tgt_end)
        for step in (-1, 1) if item.leads else (1, -1):
            word = src.word_before(place) if step > 0 else src.word_after(place)
            if first <= word <= last and (ends := self.ends[word]):
                is_last = step > 0 and word == last and last_image >= tgt.word_after(part.tgt_start)
                offset = self.beside(place, word, last_image if is_last else ends[1 + step], step, item.leads)
                return min(max(part.tgt_start, offset), part.tgt_end)
        return part.tgt_end

    def beside(self, place: int, word: int, image: int, step: int, leads: bool) -> int:
        """Where a place after (step 1) or before a word (step -1) goes, if `image` is what the word became.

        Args:
            leads: whether it is to be at the beginning of what follows, or at the end of what is before.
        """
        src, tgt, is_after = self.src, self._tgt, step > 0
        token, of_image = src.tokens[src.words[word]], tgt.tokens[tgt.words[image]]
        if token.start < place < token.end:
            is_same = src.text[token.start : token.end] == tgt.text[of_image.start : of_image.end]
            return of_image.start + place - token.start if is_same else of_image[is_after]
        part = self._part(token.end)
        if is_after and place >= part.src_end and image == tgt.word_before(part.tgt_end):
            return part.tgt_end
        if not is_after and place <= part.src_start and image == tgt.word_after(part.tgt_start):
            return part.tgt_start
        n = (bisect_left(src.tokens, (place,)) - is_after - src.words[word]) * step  # marks between word and place
        own, others = src.gaps[word + is_after][::step]
        own_there, others_there = tgt.gaps[image + is_after][::step]
        if n > own:
            n = own_there + max(0, others_there - (own + others - n))
        else:
            n = own_there if n == own > 0 else min(n, own_there)  # all of them: … may become ?!
        reached = tgt.words[image] + n * step + is_after
        return (
            tgt.tokens[reached].start
            if reached < len(tgt.tokens) and (leads or not reached)
            else tgt.tokens[reached - 1].end
        )

    def next_token(self, place: int) -> int:
        """Where the first token of the translation begins that ends after a place, or the place if it is inside."""
        token = self._tgt.tokens[bisect_right(self._tgt.tokens, place, key=lambda each: each.end)]
        return max(place, token.start)

    def _part(self, place: int) -> Place:
        """The last part that begins before a place, or the first one."""
        return self._parts[max(0, bisect_left(self._parts, (place,)) - 1)]


def _ends(linked: Sequence[int]) -> tuple[int, int, int] | None:
    """The first and the last of the linked words; between them the last one that follows the best without a gap."""
    if not linked or isinstance(linked, range):
        return (linked[0], linked[-1], linked[-1]) if linked else None
    best, distinct = linked[0], set(linked)
    while best + 1 in distinct:
        best += 1
    return min(linked), max(linked), best


_Spans = dict[int, tuple[int, int]]  # by opening tag, outer ones first: where an element is in the translation


def _elements(items: Sequence[Item], images: _Images) -> _Spans:
    """Where the elements are that have words. Where two would cross, the second one begins after the first."""
    spans: _Spans = {}
    around = [list[int]()]  # for each open element, what its words became
    done = 0
    for i, item in enumerate(items):
        stop = images.src.word_before(item.place) + 1
        around[-1] += _outermost(images, range(done, stop))
        done = stop
        if item.partner is None:
            continue
        begins = images.src.word_after(item.place)
        if item.partner > i:
            around.append(_outermost(images, range(begins, stop)))  # the word that it begins in
        elif inner := around.pop():
            opening = items[item.partner].place
            begin = images.beside(opening, images.src.word_after(opening), min(inner), -1, leads=True)
            spans[item.partner] = begin, images.beside(item.place, stop - 1, max(inner), 1, leads=False)
            around[-1] += min(inner), max(inner)
    heap = [(begin, -end, opening) for opening, (begin, end) in spans.items()]
    heapq.heapify(heap)
    uncrossed: _Spans = {}
    open_ends: list[int] = []
    while heap:
        begin, minus_end, opening = heapq.heappop(heap)
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and -minus_end > open_ends[-1]:
            heapq.heappush(heap, (images.next_token(open_ends[-1]), minus_end, opening))
        else:
            open_ends.append(-minus_end)
            uncrossed[opening] = begin, -minus_end
    return uncrossed


def _outermost(images: _Images, words: range) -> list[int]:
    return [image for word in words for image in (images.ends[word] or ())[:2]]


def _placed(items: Sequence[Item], images: _Images) -> list[tuple[int, int]]:
    """For each item, in the order of the result: where it goes in the translation, and its index.

    The order is that of the line, but tags stand so that elements do not cross.
    """
    elements = _elements(items, images)
    key_of: dict[int, tuple[int, bool]] = {}
    groups: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for i, item in enumerate(items):
        if i in elements:
            groups[elements[i][0], True].append(i)
        elif item.partner in elements:
            groups[elements[item.partner][1], False].append(i)
        elif item.partner is None:
            groups[images.of(item), item.leads].append(i)
        else:  # of an element without a word
            own = images.of(item), item.leads
            groups[max(own, key_of.get(item.partner, own))].append(i)
            key_of[i] = own
    # Where several tags come together, outer elements begin before inner ones, and end after them.
    rank: dict[int | None, int] = {}
    for n, opening in enumerate(elements):
        rank |= {opening: n, items[opening].partner: -n}
    placed = []
    for (offset, _), indices in sorted(groups.items()):
        tags = iter(sorted((i for i in indices if i in rank), key=lambda i: rank[i]))
        placed += [(offset, next(tags) if i in rank else i) for i in indices]
    return placed


def _rendered(translation: Text, items: Sequence[Item], placed: Sequence[tuple[int, int]]) -> Restored:
    text = translation.text
    edits: list[Edit] = []
    starts = [0] * len(items)
    done = n_more = 0  # how much of the translation, and how much longer that became
    for offset, group in groupby(placed, key=lambda each: each[0]):
        row = [i for _, i in group]
        first, last = items[row[0]], items[row[-1]]
        begin = end = max(offset, done)
        if first.before is not None:
            begin = done + len(text[done:begin].rstrip())
        if last.after is not None:
            end = _SPACE.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
        beside = edits[-1].new if edits and begin == done else text[done:begin]
        new, after = "", None
        for i in row:
            item = items[i]
            if item.before is None:
                new += _between(item, (new or beside)[-1:]) if after is None else ""
            elif begin + n_more:
                new = new.rstrip() + item.before
            starts[i] = begin + n_more + len(new)
            new, after = new + item.text, item.after
            if end < len(text) or i != row[-1]:
                new += _between(item, text[end]) if after is None and i == row[-1] else after or ""
        edits.append(Edit(begin, end, new))
        n_more += len(new) - (end - begin)
        done = end
    return Restored(translation.edited(edits), starts)


def _between(item: Item, character: str) -> str:
    """What is put between something and the character beside it, which it does not touch in the line."""
    return " " if is_letter(character) and not item.text.startswith("<") else ""
