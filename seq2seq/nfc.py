"""Unicode's form NFC as rules for SentencePiece.

NFC writes a letter and its marks as one character where there is one, and orders the other marks, in rows of any
length. SentencePiece replaces the longest row of characters that it has a rule for. The rules here make NFC of

- every character of Unicode, however it is spelled, and every Hangul syllable,
- a letter with two of the marks that it is composed with, such as `e` with an acute and a dot below, in any order,
- two marks of one block in any order, or three points of Hebrew or Arabic, if the letter is composed with none of them.

Any other row may stay as it is spelled. By Unicode it is the same text all the same ("canonically equivalent").
"""

import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, permutations, product

_MOST_MARKS = 2  # with three, a tokenizer would have 1 MB in place of 0.4 MB
_L, _V, _T = (  # the letters of Hangul syllables
    [chr(number) for number in range(*ends)] for ends in ((0x1100, 0x1113), (0x1161, 0x1176), (0x11A8, 0x11C3))
)


def nfc_rules() -> list[tuple[str, str]]:
    """Rows of characters, and what they become. All white space becomes a space, as in the rules of SentencePiece.

    They depend on Python's version of Unicode: a newer one has more characters, and the same rules for all others.
    """
    rules = {row: _nfc(row) for row in _rows()} | {each: " " for each in _characters() if each.isspace()}
    return [(row, becomes) for row, becomes in rules.items() if row != becomes]


def _characters() -> Iterator[str]:
    """All of Unicode, without surrogates."""
    return map(chr, chain(range(0xD800), range(0xE000, sys.maxunicode + 1)))


def _rows() -> Iterator[str]:
    """The rows that have a rule, and others that are in NFC already."""
    characters: dict[str, list[str]] = defaultdict(list)  # by their letter: what is a letter and marks in one
    composing: dict[str, set[str]] = defaultdict(set)  # marks that are written with a letter as one character
    blocks: dict[int, list[str]] = defaultdict(list)  # of marks
    for character in _characters():
        letter, marks = _decomposed(character)
        if unicodedata.combining(character):
            blocks[ord(character) >> 8].append(character)
        if character != letter and letter not in _L:
            characters[letter].append(character)
            composing[letter].update(marks if _nfc(character) == character else "")
    for letter, of_letter in characters.items():
        for character in of_letter:
            _, marks = _decomposed(character)
            if composing[letter]:
                yield from _rows_of(character, composing[letter], _MOST_MARKS - len(marks))
                for row in map("".join, permutations(marks)):
                    yield from (_nfc(letter + row[:n]) + row[n:] for n in range(len(row)))
            else:  # Hebrew letters with a point, which NFC takes apart
                yield from _rows_of(character, _points(blocks[ord(marks[-1]) >> 8]) if marks else (), 3 - len(marks))
        yield from _rows_of(letter, composing[letter], _MOST_MARKS)
    for block in blocks.values():
        yield from map("".join, chain(permutations(block, 2), permutations(_points(block), 3)))
    for row in map("".join, product(_L, _V)):
        yield row
        for last in _T:
            yield from (row + last, _nfc(row) + last)


def _rows_of(first: str, marks: Iterable[str], most: int) -> Iterator[str]:
    """A character with up to so many of the marks."""
    for n in range(most + 1):
        yield from (first + "".join(row) for row in product(sorted(marks), repeat=n))


def _points(marks: Iterable[str]) -> list[str]:
    """Those of Hebrew and Arabic."""
    return [mark for mark in marks if 10 <= unicodedata.combining(mark) < 37]


def _decomposed(character: str) -> tuple[str, str]:
    """Its letter and its marks."""
    letters = unicodedata.normalize("NFD", character)
    return letters[0], letters[1:]


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
