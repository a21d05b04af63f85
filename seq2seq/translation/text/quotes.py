"""Quotation marks and apostrophes as training had them.

A mark is replaced only by a sibling that training had at least 20 times as often. Prime signs (5′10″) are no quotation
marks and stay. A straight mark becomes a curly one only where that is certain: an apostrophe between letters, quotation
marks that come in pairs. So the quotation marks of code and of inches (5'10") stay as they are.
"""

import re
from collections.abc import Callable, Iterator

from seq2seq.translation.text.rewriting import Edit

Share = Callable[[str], float]  # of the lines of training that have a character

_MUCH_RARER = 20
_CURLY_SINGLE = re.compile("[’‘ʼ‛]")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_CODE = re.compile(r"[=(){}<>\[\]\\/_;`]|'.*'")  # a word with any of these is no word
_WORD = re.compile(r"\S+")
_STYLES = {"straight": '"', "curly": "“", "guillemets": "«"}  # each by the mark that opens
# At most three spaces: a pattern that begins with any number of them is quadratic on a megabyte of spaces.
_MARK = {
    "straight": re.compile('"'),
    "curly": re.compile("[“”„‟]"),
    "guillemets": re.compile(r"«[\s\u2060\ufeff]{0,3}|[^\S\n]{0,3}»"),
}
_OPENS = re.compile(r"(?<!\w\()(?<![^\s(\[’‘ʼ‛'])(?=.\S)|(?=«)")  # print("a") is code
_CLOSES = re.compile(r"(?<=\S).(?!\w)|(?=\s{0,3}»)")


def quote_edits(text: str, share: Share, src_lang: str) -> list[Edit]:
    """What to change in `text`, so that it has the marks of training."""
    return sorted([*_apostrophes(text, share), *_quotation_marks(text, share, src_lang)])


def _apostrophes(text: str, share: Share) -> Iterator[Edit]:
    for match in _CURLY_SINGLE.finditer(text):
        if _is_much_rarer(share(match[0]), share("'")):
            yield Edit(match.start(), match.end(), "'")
    if not _is_much_rarer(share("'"), share("’")):
        return
    for word in _WORD.finditer(text):
        if not _CODE.search(word[0]):
            for match in _BETWEEN_LETTERS.finditer(text, word.start(), word.end()):
                yield Edit(match.start(), match.end(), "’")


def _quotation_marks(text: str, share: Share, src_lang: str) -> Iterator[Edit]:
    usual = max(_STYLES, key=lambda style: share(_STYLES[style]))
    for style, first in _STYLES.items():
        marks = list(_MARK[style].finditer(text))
        if not marks or style == usual or not _is_much_rarer(share(first), share(_STYLES[usual])):
            continue
        if usual == "straight" and style == "curly":
            yield from (Edit(*mark.span(), '"') for mark in marks)
        elif _pair_up(text, marks):
            opening, closing = _written(usual, src_lang)
            yield from (Edit(*mark.span(), closing if i % 2 else opening) for i, mark in enumerate(marks))


def _is_much_rarer(share: float, of_sibling: float) -> bool:
    return of_sibling > 0 and share * _MUCH_RARER <= of_sibling


def _pair_up(text: str, marks: list[re.Match[str]]) -> bool:
    """Whether the marks open and close by turns."""
    opens = all(_OPENS.match(text, mark.start()) for mark in marks[::2])
    closes = all(_CLOSES.match(text, mark.start()) for mark in marks[1::2])
    return len(marks) % 2 == 0 and opens and closes


def _written(style: str, src_lang: str) -> tuple[str, str]:
    """What opens and closes a quotation."""
    if style == "guillemets":
        return ("« ", " »") if src_lang.lower().startswith("fr") else ("«", "»")
    return ("“", "”") if style == "curly" else ('"', '"')
