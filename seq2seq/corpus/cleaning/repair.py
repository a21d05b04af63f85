"""Mends what surely is a fault of the file, and not of the translation: wrong encodings, escapes and tags of HTML, soft
hyphens.

What has none of these faults stays as it is. What cannot be mended is left to the rules.
"""

import html
import html.entities
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from seq2seq.corpus.cleaning.measures import ENTITY, MISREAD, TAG
from seq2seq.errors import ConfigError

_SEPARATES = re.compile(r"</?(?:br|dd|div|dl|dt|h[1-6]|hr|li|ol|p|table|td|th|tr|ul)\b", re.IGNORECASE)
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u2060\ufeff"))  # soft hyphens, and what joins words without a space
_MOST_ESCAPES = 3  # of a character: &amp;amp;amp;


def repaired(pairs: Iterator[tuple[str, str]], counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """The pairs, mended. `counts` gets how many pairs had which fault mended.

    Raises:
        ConfigError: ftfy is not installed.
    """
    try:
        import ftfy
    except ImportError as error:
        raise ConfigError("--repair needs ftfy, which is not installed: pip install 'ftfy>=6.3'") from error
    for pair in pairs:
        mended = []
        names: set[str] = set()
        for side in pair:
            for name, text in _steps(side, ftfy):
                names |= {name} if text != side else set()
                side = text
            mended.append(side)
        counts.update(names)
        yield mended[0], mended[1]


def _steps(text: str, ftfy: Any) -> Iterator[tuple[str, str]]:
    """Each repair that has something to do, and the text after it."""
    if not text.isascii() and MISREAD.search(text):
        text = ftfy.fix_encoding(text)
        yield "mojibake", text
    if "<" in text and TAG.search(text):
        text = re.sub(" {2,}", " ", TAG.sub(_without_tag, text)).strip()
        yield "tags", text
    for _ in range(_MOST_ESCAPES):
        if "&" in text:
            text = ENTITY.sub(_unescaped, text)
            yield "entities", text
    yield "invisible", text.translate(_INVISIBLE)


def _without_tag(tag: Any) -> str:
    if tag[0] == "<!--":  # where the comment ends, nobody knows
        return "<!--"
    return " " if _SEPARATES.match(tag[0]) else ""


def _unescaped(escape: re.Match[str]) -> str:
    if escape[0][1] != "#" and escape[0][1:] not in html.entities.html5:
        return escape[0]
    found = html.unescape(escape[0])
    return found if len(found.splitlines()) == 1 and found not in "\r\n" else " "  # a pair is one line
