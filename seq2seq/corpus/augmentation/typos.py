"""One slip of a finger on the keyboard."""

import random
import re
import unicodedata

import regex

from seq2seq.characters import CHARACTER, LETTERS

_TOKEN = re.compile(r"\S{4,}")
# Not in what must be written exactly: numbers, URLs, addresses, placeholders, markup.
_EXACT = regex.compile(r"[\d_@/\\{}<>&#%$=~]|\w[.:]\w")
# More than one character: a row of letters and marks may be a single one, such as स्त्री.
_LETTERS = regex.compile(rf"(?V1)(?<!{LETTERS})(?=\X{LETTERS}){LETTERS}{{4,}}")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def with_typo(text: str, draw: random.Random) -> str:
    """One typo in a word of at least four letters, not in its first letter. Without such a word, the text as it is."""
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    while tokens:
        chosen = draw.randrange(len(tokens))
        start, end = tokens[chosen]
        words = [match.span() for match in _LETTERS.finditer(text, start, end)]
        if words and not _EXACT.search(text, start, end):
            start, end = draw.choice(words)
            return text[:start] + _mistyped(CHARACTER.findall(text[start:end]), draw) + text[end:]
        tokens[chosen] = tokens[-1]
        tokens.pop()
    return text


def _mistyped(word: list[str], draw: random.Random) -> str:
    """The word of these characters with a typo. A letter and its marks are one character."""
    at = draw.randrange(1, len(word))
    letter, kind = word[at], draw.randrange(4)
    if kind == 0 and at + 1 < len(word) and word[at + 1] != letter:
        word[at : at + 2] = word[at + 1], letter
    elif kind == 1:
        del word[at]
    elif kind == 2 and (near := _NEIGHBOURS.get(_base(letter))):
        struck = draw.choice(near)
        word[at] = struck.upper() if letter.isupper() else struck
    else:
        word.insert(at, letter)  # doubled
    return "".join(word)


def _base(letter: str) -> str:
    """`e` for `É`."""
    return unicodedata.normalize("NFD", letter)[0].lower()


def _neighbours() -> dict[str, str]:
    """The keys around each key, on a keyboard whose rows are shifted by half a key."""
    found: dict[str, str] = {}
    for y, row in enumerate(_ROWS):
        for x, key in enumerate(row):
            around = [(y, x - 1), (y, x + 1), (y - 1, x), (y - 1, x + 1), (y + 1, x - 1), (y + 1, x)]
            found[key] = "".join(_ROWS[j][i] for j, i in around if 0 <= j < len(_ROWS) and 0 <= i < len(_ROWS[j]))
    return found


_NEIGHBOURS = _neighbours()
