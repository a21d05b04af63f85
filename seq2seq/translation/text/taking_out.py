"""A line without the things that come through unchanged, and what is needed to put them back.

Things with nothing but white space between them are a row. Most of a row goes after the word before it. From the first
tag that opens an element with words in it, the row goes before the word after it:

    Un chat 😀 <b>noir</b>.     the text is "Un chat noir.", 😀 follows "chat", <b> precedes and </b> follows "noir"
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from seq2seq.translation.text.kept import Thing
from seq2seq.translation.text.origins import Edit, Text
from seq2seq.translation.text.splitting import LINE_ENDS

CLOSERS = frozenset(",.;:!?…)]}»”’。、，！？）」』")
_OPENERS = frozenset("([{«“‘¿¡（「『")
_EITHER = frozenset("\"'")
_SPACE = re.compile(r"\s*")


class Item(NamedTuple):
    """A thing that was taken out.

    Attributes:
        origins: see `Text`.
        place: characters before it in the text that is left.
        leads: whether it goes before the word after it, and not after the word before it.
        space: the white space between it and what it follows; if it leads, between it and what it precedes.
        gap: the white space on its other side, where that is not the white space of the text; else None.
        partner: see `Thing`; only if words of the text are between the two tags.
        left, right: the characters on both sides that are left of the line, white space not counted.
    """

    text: str
    origins: Sequence[int]
    place: int
    leads: bool
    space: str
    gap: str | None
    partner: int | None
    left: str
    right: str


def take_out(line: Text, things: Sequence[Thing]) -> tuple[Text, list[Item]]:
    """Take `things` out of `line`. White space around the line goes too, unless there is nothing to take out."""
    if not things:
        return line, []
    text = line.text
    begin, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    edits, items = [Edit(0, begin, "")], list[Item]()
    done = n_gone = begin
    for row in _rows(text, things):
        spaces = _spaces(text, [things[i] for i in row], done, stop)
        start, done = things[row.start].start - len(spaces[0]), things[row.stop - 1].end + len(spaces[-1])
        place = start - n_gone
        left, right = text[start - 1] if place else "", text[done] if done < stop else ""
        leading = next((i for i in row if (things[i].partner or 0) >= row.stop), row.stop)
        own_gap = spaces[leading - row.start]  # between what follows and what leads
        divides = any(things[i].divides for i in row)
        gap = _gap(left, text[done : done + 2], spaces, own_gap, divides) if left and right else ""
        for i in row:
            leads, thing = i >= leading, things[i]
            items.append(
                Item(
                    text=thing.text,
                    origins=line.origins[thing.start : thing.end],
                    place=place + len(gap) * leads,
                    leads=leads,
                    space=spaces[i - row.start + leads].translate(LINE_ENDS),
                    gap=own_gap.translate(LINE_ENDS) if i == max(row.start, leading - 1) and own_gap != gap else None,
                    # "None in row" would look at each number of the row.
                    partner=None if thing.partner is None or thing.partner in row else thing.partner,
                    left=left,
                    right=right,
                )
            )
        edits.append(Edit(start, done, gap))
        n_gone += done - start - len(gap)
    return line.edited([*edits, Edit(stop, len(text), "")]), items


def without(prefix: str, items: Sequence[Item], things: Callable[[str], Sequence[Thing]]) -> str:
    """The beginning of a translation, without what comes back from the line.

    Args:
        things: what of a text is taken out.
    """
    back = Counter(item.text for item in items)
    doubled = []
    for thing in things(prefix) if back else ():
        if back[thing.text]:
            back[thing.text] -= 1
            doubled.append(thing._replace(partner=None))
    return take_out(Text.of(prefix), doubled)[0].text


def _rows(text: str, things: Sequence[Thing]) -> list[range]:
    """Things with nothing but white space between them."""
    starts = [0, *(i for i in range(1, len(things)) if text[things[i - 1].end : things[i].start].strip())]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], len(things)], strict=True)]


def _spaces(text: str, row: Sequence[Thing], begin: int, stop: int) -> list[str]:
    """The white space before each thing of a row, and after the last one, in text[begin:stop]."""
    before = text[begin : row[0].start]
    between = [text[a.end : b.start] for a, b in pairwise(row)]
    after = _SPACE.match(text, row[-1].end, stop)
    return [before[len(before.rstrip()) :], *between, after[0] if after else ""]


def _gap(left: str, right: str, spaces: Sequence[str], own_gap: str, divides: bool) -> str:
    """The white space between what is left and right of a row when the row is gone."""
    is_closing = right[0] in CLOSERS or (right[0] in _EITHER and not right[1:].isalnum())
    if (is_closing and not spaces[-1]) or (left in _OPENERS and not spaces[0]):
        return ""
    if any(spaces):
        return own_gap or " "
    return " " if divides and left.isalnum() and right[0].isalnum() else ""
