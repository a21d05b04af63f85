"""Odd spaces, as they come from web pages, word processors and phones."""

import random
import re
from collections.abc import Callable
from functools import partial

_SPACE = re.compile(" ")
_MARK = re.compile(r"(?<=[^\W\d])[,.;:!?](?!\S)")
_AFTER_COMMA = re.compile(r"(?<=[^\W\d],) (?=[^\W\d])")
_ODD = ("\u00a0", "\u202f", "\u2009")  # no-break, narrow no-break, thin
_ZERO_WIDTH = "\u200b"


def with_odd_spaces(text: str, draw: random.Random) -> str:
    """One or two odd spaces, never a tab or a line end. A blank text stays as it is."""
    if not text or text.isspace():
        return text
    n_left = draw.randint(1, 2)
    for change in draw.sample(_CHANGES, len(_CHANGES)):
        changed = change(text, draw)
        n_left -= changed != text
        text = changed
        if not n_left:
            break
    return text


def _replaced(pattern: re.Pattern[str], by: str, text: str, draw: random.Random) -> str:
    """The text with one match of the pattern replaced, if there is any."""
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = draw.choice(matches)
    return text[: match.start()] + match.expand(by) + text[match.end() :]


def _of_another_width(text: str, draw: random.Random) -> str:
    return _replaced(_SPACE, draw.choice(_ODD), text, draw)


_CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    partial(_replaced, _SPACE, "  "),
    _of_another_width,
    partial(_replaced, _MARK, r" \g<0>"),
    partial(_replaced, _AFTER_COMMA, ""),
    partial(_replaced, _SPACE, " " + _ZERO_WIDTH),
    lambda text, draw: " " + text,
    lambda text, draw: text + " ",
)
