"""A line without the things that come through unchanged, and what is needed to put them back.

Things with nothing but white space between them are a row. A row goes after the word before it, but before the word
after it goes what touches only that, and all from the first tag that opens an element with words in it:

    Un chat 😀 <b>noir</b>.     the text is "Un chat noir.", 😀 follows "chat", <b> precedes and </b> follows "noir"
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

from seq2seq.characters import SPACED, is_unspaced
from seq2seq.translation.text.kept import Thing
from seq2seq.translation.text.origins import Edit, Text
from seq2seq.translation.text.splitting import BREAK, LINE_ENDS

_SPACE = re.compile(r"\s*")
_OPENER = regex.compile(r"[\p{Ps}\p{Pi}¿¡]")
_CLOSER = regex.compile(r"[\p{Pe}\p{Pf}\p{Terminal_Punctuation}…]|[\"'](?!\w)")
_LETTER = regex.compile(f"(?V1){SPACED}")


class Item(NamedTuple):
    """A thing that was taken out.

    Attributes:
        origins: see `Text`.
        place: characters before it in the text that is left.
        leads: whether it goes before the word after it, and not after the word before it.
        before, after: the white space that it has on either side; "": it touches what is there; None: what is put there
            decides.
        partner: see `Thing`; only if words of the text are between the two tags.
    """

    text: str
    origins: Sequence[int]
    place: int
    leads: bool
    before: str | None
    after: str | None
    partner: int | None


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
        left, right = text[start - 1] if place else "", text[done : min(done + 2, stop)]
        leading = _leading(row, things, spaces, left, right)
        own_gap = spaces[leading - row.start]  # between what follows and what leads
        gap = _gap(left, right, spaces, own_gap, [things[i] for i in row])
        for i in row:
            leads, thing = i >= leading, things[i]
            n = i - row.start + leads  # of the white space between it and what it goes with
            is_tied = thing.is_break or 0 < n < len(row) or _touches(thing.text, leads, right if n else left)
            own = spaces[n].translate(LINE_ENDS) or ("" if is_tied else None)
            other = own_gap.translate(LINE_ENDS) if own_gap != gap and i == max(row.start, leading - 1) else None
            # "None in row" would look at each number of the row.
            partner = None if thing.partner is None or thing.partner in row else thing.partner
            before, after = (other, own) if leads else (own, other)
            origins = line.origins[thing.start : thing.end]
            items.append(
                Item(thing.text.translate(LINE_ENDS), origins, place + len(gap) * leads, leads, before, after, partner)
            )
        edits.append(Edit(start, done, gap))
        n_gone += done - start - len(gap)
    return line.edited([*edits, Edit(stop, len(text), "")]), items


def without(prefix: str, items: Sequence[Item], things: Callable[[str], Sequence[Thing]]) -> str:
    """The beginning of a translation, without what comes back from the line.

    Args:
        things: what of a text is taken out.
    """
    if not (prefix and items):
        return prefix
    back = Counter(item.text for item in items)
    doubled = []
    for thing in things(prefix):
        if back[thing.text]:
            back[thing.text] -= 1
            doubled.append(thing._replace(partner=None))
    return take_out(Text.of(prefix), doubled)[0].text


def is_letter(character: str) -> bool:
    """Whether it is a letter or digit of a script that has spaces between words."""
    return _LETTER.match(character) is not None


def _touches(thing: str, at_its_end: bool, beside: str) -> bool:
    """Whether a thing touches a word so that it does again in the translation; an address beside Arabic does not."""
    edge = thing[-1 if at_its_end else 0]
    is_of_other_kind = edge.isalnum() and is_letter(edge) and beside[:1].lower() == beside[:1].upper()
    return is_letter(beside[:1]) and not is_of_other_kind


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


def _leading(row: range, things: Sequence[Thing], spaces: Sequence[str], left: str, right: str) -> int:
    """The first thing of a row that leads."""
    partners = [row.start if (partner := things[i].partner) is None else partner for i in row]
    closed = max((n + 1 for n, partner in enumerate(partners) if partner < row.start), default=0)
    opened = next((n for n, partner in enumerate(partners) if partner >= row.stop), len(row))
    apart = len(row)
    if right and (not left or _OPENER.match(left)):
        apart = 0
    elif not spaces[-1] and is_letter(right[:1]):  # what touches the next word
        apart = max((n for n in range(len(row)) if spaces[n]), default=len(row) * is_letter(left))
    return row.start + min(opened, max(apart, closed))


def _gap(left: str, right: str, spaces: Sequence[str], own_gap: str, row: Sequence[Thing]) -> str:
    """The white space between what is left and right of a row when the row is gone."""
    if not (left and right):
        return ""
    if any(thing.is_break for thing in row):
        return BREAK
    if own_gap or (is_unspaced(left) and is_unspaced(right[0])):
        return own_gap
    if is_letter(left) and is_letter(right[0]):
        return " " if any(spaces) or any(thing.divides for thing in row) else ""
    is_tied = _CLOSER.match(right) or _OPENER.match(left)
    return " " if any(spaces) and not is_tied else ""
