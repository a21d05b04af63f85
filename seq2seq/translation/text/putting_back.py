"""Put the things that were taken out of a line into its translation, each one exactly once.

A tag that opens an element goes before the first word that comes from the words in it, and the one that closes it after
the last. So elements may grow, but they never cross each other if they did not in the line. Anything else goes after
the word that comes from the word before it. What stood at the beginning or the end of a part of the line stays there.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from seq2seq.translation.text.splitting import LINE_ENDS
from seq2seq.translation.text.taking_out import Item, Taken
from seq2seq.translation.text.units import Links, units

_NO_BREAK = "\u00a0\u202f"
_CLOSERS = ",.;:!?…)]}»”’。、，！？）」』"
_MOST_MARKS = 8  # to step over, between a word and a thing


class Part(NamedTuple):
    """Where a part of the text is, and where its translation is, in characters and without white space around."""

    src_start: int
    src_end: int
    tgt_start: int
    tgt_end: int


class Restored(NamedTuple):
    """A translation that is complete again.

    Attributes:
        starts: where each thing is in `text`, in characters.
    """

    text: str
    starts: list[int]


class _Place(NamedTuple):
    offset: int  # in the translation
    leads: bool  # belongs to what comes after the offset
    item: int


def put_back(translation: str, taken: Taken, parts: Sequence[Part], links: Links) -> Restored:
    """Put the items of `taken` into the translation of its text.

    White space around an item is as in the line. That between words of the translation stays.

    Args:
        parts: in order; at least one.
        links: for each of `units(taken.text)`, those of `units(translation)` that come from it, best first. They may
            be empty for words whose part has no word in the translation.
    """
    if not taken.items:
        return Restored(translation, [])
    return _rendered(translation, taken, _Places(translation, taken, parts, links).find())


class _Places:
    """Finds where each item goes."""

    def __init__(self, translation: str, taken: Taken, parts: Sequence[Part], links: Links) -> None:
        self._text, self._items = taken.text, taken.items
        self._translation = translation
        self._parts = parts
        self._links = links
        self._src = units(taken.text)
        self._tgt = units(translation)
        self._n_equal: dict[tuple[int, int, int], int] = {}
        self._target_after: dict[int, int] = {}

    def find(self) -> list[_Place]:
        """In the order in which they stand in the result."""
        spans = _uncrossed(self._spans())
        offsets: dict[int, int] = {}
        leads = {i: item.leads for i, item in enumerate(self._items)}
        for i, item in enumerate(self._items):
            opening = i if i in spans else item.partner if item.partner in spans else None
            if opening is None:
                is_tag = item.partner is not None  # of an element without a word
                offsets[i] = self._leading(item) if item.leads and not is_tag else self._following(item)
            elif i == opening:
                offsets[i] = self._opening(item, spans[i][0])
            else:
                offsets[i] = self._closing(item, spans[opening][1])
            if item.partner is not None and item.partner < i:
                offsets[i] = max(offsets[i], offsets[item.partner])
                if offsets[i] == offsets[item.partner]:  # an element without a word: both follow what is before
                    leads[i] = leads[item.partner] = False
        return self._in_order(offsets, leads, spans)

    def _in_order(
        self, offsets: dict[int, int], leads: dict[int, bool], spans: dict[int, tuple[int, int]]
    ) -> list[_Place]:
        """By place, then as in the line, but tags so that elements do not cross."""
        rank = {opening: n for n, opening in enumerate(sorted(spans, key=lambda i: (spans[i][0], -spans[i][1], i)))}
        self._close_after_inner(offsets, spans, rank)
        groups: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for i in range(len(self._items)):
            groups[offsets[i], leads[i]].append(i)
        places = []
        for (offset, is_leading), indices in sorted(groups.items()):
            openings = [i for i in indices if i in rank and is_leading]
            closings = [i for i in indices if self._items[i].partner in rank and not is_leading and i not in rank]
            moved = dict(zip(openings, sorted(openings, key=lambda i: rank[i]), strict=True))
            moved |= zip(closings, sorted(closings, key=lambda i: -rank[self._items[i].partner or 0]), strict=True)
            places += [_Place(offset, is_leading, moved.get(i, i)) for i in indices]
        return places

    def _close_after_inner(
        self, offsets: dict[int, int], spans: dict[int, tuple[int, int]], rank: dict[int, int]
    ) -> None:
        """Let no element end before one in it, nor begin after it, where both share a word and its punctuation."""
        # By the last and by the first word: from where to where the elements reach that share it.
        ending: dict[int, tuple[int, int]] = {}
        beginning: dict[int, tuple[int, int]] = {}
        for opening in sorted(spans, key=lambda i: -rank[i]):  # inner ones first
            closing = self._items[opening].partner
            assert closing is not None
            first, last = spans[opening]
            own = offsets[opening], offsets[closing]
            begin, end = ending.get(last, own)
            if begin < own[1]:  # else they are side by side, in one word
                offsets[closing] = max(own[1], end)
            ending[last] = min(begin, own[0]), max(end, own[1])
            begin, end = beginning.get(first, own)
            if begin < own[1]:
                offsets[opening] = min(own[0], begin)
            beginning[first] = min(begin, own[0]), max(end, own[1])

    def _spans(self) -> dict[int, tuple[int, int]]:
        """By opening tag: the first and the last translated word that come from the words of its element."""
        spans: dict[int, tuple[int, int]] = {}
        stack: list[list[int]] = []
        n_units = 0

        def add(unit: int) -> None:
            if stack and self._links[unit]:
                first, last = _ends(self._links[unit])
                stack[-1][:] = [min(stack[-1][0], first), max(stack[-1][1], last)]

        for i, item in enumerate(self._items):
            while n_units < len(self._src) and self._src[n_units].start < item.place:
                add(n_units)
                n_units += 1
            if item.partner is None:
                continue
            if item.partner > i:
                stack.append([len(self._tgt), -1])
                if n_units and self._src[n_units - 1].end > item.place:  # it begins inside a word
                    add(n_units - 1)
                continue
            first, last = stack.pop()
            if first <= last:
                spans[item.partner] = first, last
            if stack:
                stack[-1][:] = [min(stack[-1][0], first), max(stack[-1][1], last)]
        return spans

    def _opening(self, item: Item, target: int) -> int:
        unit = self._unit_after(item.place)
        part = self._part(item.place)
        is_first = bisect_left(self._tgt, (part.tgt_start, 0)) == target
        if is_first and item.place <= part.src_start:
            return part.tgt_start
        return self._before(target, unit, item.place)

    def _closing(self, item: Item, target: int) -> int:
        unit = bisect_left(self._src, (item.place, 0)) - 1
        part = self._part(item.place)
        is_last = bisect_left(self._tgt, (part.tgt_end, 0)) - 1 == target
        if is_last and item.place >= part.src_end:
            return part.tgt_end
        return self._after(target, unit, item.place)

    def _following(self, item: Item) -> int:
        """Where an item goes that follows a word, or stands at the beginning or the end of a part."""
        part = self._part(item.place)
        if item.place <= part.src_start:
            return part.tgt_start
        if item.place >= part.src_end:
            return part.tgt_end
        unit = bisect_left(self._src, (item.place, 0)) - 1
        if unit < 0 or self._src[unit].start < part.src_start:
            return self._at_start(part, item.place)
        last_target = bisect_left(self._tgt, (part.tgt_end, 0)) - 1
        is_last = unit == bisect_left(self._src, (part.src_end, 0)) - 1
        if is_last and last_target >= 0 and self._tgt[last_target].start >= part.tgt_start:
            return self._after(last_target, unit, item.place)
        if not self._links[unit]:
            return part.tgt_end
        return self._after(self._last_of_run(unit), unit, item.place)

    def _leading(self, item: Item) -> int:
        """Where an item goes that precedes a word; it follows a tag that does."""
        unit = self._unit_after(item.place)
        is_there = unit < len(self._src) and self._src[unit].start < self._part(item.place).src_end
        if not is_there or not self._links[unit]:
            return self._following(item)
        return self._before(_ends(self._links[unit])[0], unit, item.place)

    def _last_of_run(self, unit: int) -> int:
        """The best link of a word, or the last one of those that follow it without a gap."""
        if unit not in self._target_after:
            linked = set(self._links[unit])
            target = self._links[unit][0]
            while target + 1 in linked:
                target += 1
            self._target_after[unit] = target
        return self._target_after[unit]

    def _part(self, place: int) -> Part:
        """The part of the text that `place` is in, or at the end of."""
        index = bisect_right(self._parts, place, key=lambda part: part.src_start) - 1
        if index > 0 and self._parts[index].src_start == place and self._parts[index - 1].src_end == place:
            index -= 1
        return self._parts[max(0, index)]

    def _unit_after(self, place: int) -> int:
        unit = bisect_left(self._src, (place, 0))
        return unit - 1 if unit and self._src[unit - 1].end > place else unit

    def _at_start(self, part: Part, place: int) -> int:
        """Where an item goes that has only punctuation before it in its part."""
        n_before = place - part.src_start
        if n_before <= self._common(part.src_start, part.tgt_start, 1):
            return part.tgt_start + n_before
        first = bisect_left(self._tgt, (part.tgt_start, 0))
        is_there = first < len(self._tgt) and self._tgt[first].start < part.tgt_end
        return self._tgt[first].start if is_there else part.tgt_start

    def _after(self, target: int, unit: int, place: int) -> int:
        """After a translated word, and after as much punctuation as there is between the source word and `place`."""
        (src_start, src_end), (start, end) = self._src[unit], self._tgt[target]
        if place < src_end:  # inside the word
            is_same = self._text[src_start:src_end] == self._translation[start:end]
            return start + place - src_start if is_same else end
        limit = self._tgt[target + 1].start if target + 1 < len(self._tgt) else len(self._translation)
        if place - src_end <= min(limit - end, self._common(src_end, end, 1)):
            return end + place - src_end
        n_marks = _n_visible(self._text[src_end : min(place, src_end + _MOST_MARKS)])
        while n_marks and end < limit:
            is_bound = self._translation[end] in _NO_BREAK and not self._translation[end + 1 : limit][:1].isspace()
            if is_bound and end + 1 < limit:
                end += 1
            if self._translation[end].isspace():
                break
            end, n_marks = end + 1, n_marks - 1
        return end

    def _before(self, target: int, unit: int, place: int) -> int:
        """Before a translated word, and before as much punctuation as between `place` and the source word."""
        (src_start, src_end), (start, end) = self._src[unit], self._tgt[target]
        if place > src_start:
            is_same = self._text[src_start:src_end] == self._translation[start:end]
            return start + place - src_start if is_same else start
        limit = self._tgt[target - 1].end if target else 0
        if src_start - place <= min(start - limit, self._common(src_start, start, -1)):
            return start - (src_start - place)
        n_marks = _n_visible(self._text[max(place, src_start - _MOST_MARKS) : src_start])
        while n_marks and start > limit:
            is_bound = self._translation[start - 1] in _NO_BREAK and start - 2 >= limit
            if is_bound and not self._translation[start - 2].isspace():
                start -= 1
            if self._translation[start - 1].isspace():
                break
            start, n_marks = start - 1, n_marks - 1
        return start

    def _common(self, i: int, j: int, step: int) -> int:
        """How many characters without a letter follow equally in text and translation; step -1: before."""
        if (i, j, step) not in self._n_equal:
            n, shift = 0, -(step < 0)
            a, b = i + shift, j + shift
            while 0 <= a < len(self._text) and 0 <= b < len(self._translation):
                if self._text[a] != self._translation[b] or self._text[a].isalnum():
                    break
                a, b, n = a + step, b + step, n + 1
            self._n_equal[i, j, step] = n
        return self._n_equal[i, j, step]


def _ends(linked: Sequence[int]) -> tuple[int, int]:
    return (linked[0], linked[-1]) if isinstance(linked, range) else (min(linked), max(linked))


def _uncrossed(spans: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Spans none of which begins in another one and ends after it: such a one begins after the end of the other."""
    heap = [(first, -last, opening) for opening, (first, last) in spans.items()]
    heapq.heapify(heap)
    found: dict[int, tuple[int, int]] = {}
    around: list[int] = []  # last words
    while heap:
        first, minus_last, opening = heapq.heappop(heap)
        while around and around[-1] < first:
            around.pop()
        if around and -minus_last > around[-1]:
            heapq.heappush(heap, (around[-1] + 1, minus_last, opening))
            continue
        around.append(-minus_last)
        found[opening] = first, -minus_last
    return found


def _rendered(translation: str, taken: Taken, places: Sequence[_Place]) -> Restored:
    text: list[str] = []
    starts = [0] * len(taken.items)
    length = cursor = 0

    def add(piece: str) -> None:
        nonlocal length
        text.append(piece)
        length += len(piece)

    for (offset, leads), group in groupby(places, key=lambda place: place[:2]):
        items = [(place.item, taken.items[place.item]) for place in group]
        between = translation[cursor:offset]
        cursor = max(cursor, offset)
        (_, first), (_, last) = items[0], items[-1]
        if leads and first.leads and first.gap is not None and _is_like(_left(taken, first), between.rstrip()[-1:]):
            between = between.rstrip() + first.gap.translate(LINE_ENDS)
        add(between)
        for i, item in items:
            space = item.space.translate(LINE_ENDS)
            if not item.leads and length:
                touches = not space and text[-1][-1:].isalnum() and not _left(taken, item)[-1:].isalnum()
                add(" " if touches and i == items[0][0] and item.partner is None else space)
            starts[i] = length
            add(item.text)
            if item.leads and cursor < len(translation):
                add(space)
        if not last.leads:
            rest = cursor + _n_spaces(translation, cursor)
            following = translation[rest : rest + 1]
            gap = (last.gap or "").translate(LINE_ENDS)
            if last.gap is None:
                touches = rest == cursor and following.isalnum() and not _right(taken, last).isalnum()
                add(" " if touches and last.partner is None else "")
            elif following and _is_like(_right(taken, last), following):
                cursor = rest
                add(gap)
            elif following and rest == cursor and following not in _CLOSERS:
                add(gap)
    add(translation[cursor:])
    return Restored("".join(text), starts)


def _left(taken: Taken, item: Item) -> str:
    """The character before an item in the text, white space not counted."""
    end = item.place
    while end and taken.text[end - 1].isspace():
        end -= 1
    return taken.text[max(0, end - 1) : end]


def _right(taken: Taken, item: Item) -> str:
    start = item.place + _n_spaces(taken.text, item.place)
    return taken.text[start : start + 1]


def _n_spaces(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end].isspace():
        end += 1
    return end - start


def _is_like(a: str, b: str) -> bool:
    return bool(a) == bool(b) and a.isalnum() == b.isalnum()


def _n_visible(text: str) -> int:
    return sum(not character.isspace() for character in text)
