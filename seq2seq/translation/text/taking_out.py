"""A line without the things that come through unchanged, and what is needed to put them back.

Things with nothing but white space between them are a row. Most of a row goes after the word before it. From the first
tag that opens an element with words in it, the row goes before the word after it:

    Un chat 😀 <b>noir</b>.     the text is "Un chat noir.", 😀 follows "chat", <b> precedes and </b> follows "noir"
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from seq2seq.translation.text.kept import Thing

_CLOSERS = frozenset(",.;:!?…)]}»”’。、，！？）」』")
_OPENERS = frozenset("([{«“‘¿¡（「『")
_EITHER = frozenset("\"'")


@dataclass(frozen=True)
class Item:
    """A thing that was taken out.

    Attributes:
        start: characters before it in the line.
        place: characters before it in the text that is left.
        leads: whether it goes before the word after it, and not after the word before it.
        space: the white space between it and what it follows; if it leads, between it and what it precedes.
        gap: the white space on its other side, where that is not the white space of the text; else None.
        partner: see `Thing`; only if words of the text are between the two tags.
    """

    text: str
    start: int
    place: int
    leads: bool
    space: str
    gap: str | None
    partner: int | None

    @property
    def end(self) -> int:
        """Characters before its end in the line."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Taken:
    """What is left of a line, and what was taken out, in order."""

    text: str
    items: list[Item] = field(default_factory=list)


def take_out(line: str, things: Sequence[Thing]) -> Taken:
    """Take `things` out of `line`. White space around the line goes too, unless there is nothing to take out."""
    if not things:
        return Taken(line)
    begin, stop = len(line) - len(line.lstrip()), len(line.rstrip())
    text: list[str] = []
    n_left, end = 0, begin
    items: list[Item] = []
    for row in _rows(line, things):
        row_begin, row_end = things[row.start].start, things[row.stop - 1].end
        left = line[end:row_begin].rstrip()
        text.append(left)
        n_left += len(left)
        spaces = _spaces(line, things, row, begin, stop)
        is_at_border = not n_left or row_end + len(spaces[-1]) == stop
        leading = next((i for i in row if _leads(things, i, row)), row.stop)
        split = leading - row.start
        gap = "" if is_at_border else _gap(line, things, row, spaces, split)
        own_gap = None if spaces[split] == gap else spaces[split]
        for i in range(row.start, leading):
            gap_after = own_gap if i == leading - 1 else None
            items.append(_item(things[i], n_left, False, spaces[i - row.start], gap_after, row))
        text.append(gap)
        n_left += len(gap)
        for i in range(leading, row.stop):
            gap_before = own_gap if i == row.start else None
            items.append(_item(things[i], n_left, True, spaces[i - row.start + 1], gap_before, row))
        end = row_end + len(spaces[-1])
    text.append(line[end:stop])
    return Taken("".join(text), items)


def _rows(line: str, things: Sequence[Thing]) -> list[range]:
    """Things with nothing but white space between them."""
    starts = [0]
    starts += [i for i in range(1, len(things)) if line[things[i - 1].end : things[i].start].strip()]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], len(things)], strict=True)]


def _spaces(line: str, things: Sequence[Thing], row: range, begin: int, stop: int) -> list[str]:
    """The white space before each thing of a row, and after the last one."""
    first, last = things[row.start].start, things[row.stop - 1].end
    start = next((i for i in range(first, begin, -1) if not line[i - 1].isspace()), begin)
    end = next((i for i in range(last, stop) if not line[i].isspace()), stop)
    between = [line[things[i - 1].end : things[i].start] for i in row[1:]]
    return [line[start:first], *between, line[last:end]]


def _leads(things: Sequence[Thing], index: int, row: range) -> bool:
    partner = things[index].partner
    return partner is not None and partner >= row.stop


def _gap(line: str, things: Sequence[Thing], row: range, spaces: Sequence[str], split: int) -> str:
    """The white space between what is left and right of a row when the row is gone."""
    first, last = things[row.start].start, things[row.stop - 1].end
    left = line[first - len(spaces[0]) - 1]
    after = last + len(spaces[-1])
    right = line[after]
    following = line[after + 1 : after + 2]
    is_closing = right in _CLOSERS or (right in _EITHER and not following.isalnum())
    if (is_closing and not spaces[-1]) or (left in _OPENERS and not spaces[0]):
        return ""
    if any(spaces):
        return spaces[split] or " "
    is_inside = left.isalnum() and right.isalnum() and any(things[i].divides for i in row)
    return " " if is_inside else ""


def _item(thing: Thing, place: int, leads: bool, space: str, gap: str | None, row: range) -> Item:
    # "None in row" would look at each number of the row.
    partner = None if thing.partner is None or thing.partner in row else thing.partner
    return Item(thing.text, thing.start, place, leads, space, gap, partner)
