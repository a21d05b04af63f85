"""Words as they are compared: without case, and without the marks around them."""

import re

_MARKS = re.compile(r"^\W+|\W+$")


def bare_words(text: str) -> list[str]:
    """All of `text.split()`, in order. A word of marks stays as it is."""
    return [_MARKS.sub("", word).casefold() or word for word in text.split()]
