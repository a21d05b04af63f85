"""What can be wrong with a pair, each as a number that is 0 or small for good text.

A measure looks at one pair alone. If it looks at each side alone, the worse side counts.
"""

import html.entities
import re
import unicodedata
from collections import Counter
from functools import cache
from typing import NamedTuple

import regex

from seq2seq.characters import STOPS, is_unspaced, n_words, split_words
from seq2seq.corpus.cleaning.languages import surely_other, written_in


class Pair(NamedTuple):
    """A source and its translation, with their languages."""

    src: str
    tgt: str
    src_lang: str
    tgt_lang: str

    @property
    def sides(self) -> tuple[str, str]:
        return self.src, self.tgt


_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"«»]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+))*\s*/?>|<!--")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
# Of 1 to 3 digits, then groups of three after the marks that languages put between thousands.
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[ .,'\u2019\u00a0\u202f]\d{3})+(?!\d)|\d+")
_NOT_A_DIGIT = re.compile(r"\D")
_SENTENCE_END = regex.compile(f"(?V1){STOPS}+")
# An abbreviation, or an initial: its full stop ends no sentence.
_SHORT_FORM = re.compile(r"\b(?:[^\W\d_]|Mr|Mrs|Ms|Dr|St|Mme|Mlle|etc|vs|[Nn]o|[ap]\.m)\.|(?<=\d)[.,](?=\d)")
# Zero-width characters that no text needs. Joiners and marks of direction are left out: emoji and some scripts do.
_ZERO_WIDTH = frozenset("\u00ad\u200b\u2060\ufeff\u2028\u2029")
_NEEDED = frozenset("\t")
_LETTERS = regex.compile(r"[\p{L}\p{M}]+")
_LOST = "\ufffd"
_WORD_FROM = 3  # words from which a copy is one; a name or an exclamation is the same in both languages
_LONGEST_PERIOD = 8  # words of a phrase that repeats
_CHARACTERS_OF_A_WORD = 2  # where there are no spaces; one may repeat, as in laughter
_IN_WORDS_BELOW = 100  # smaller numbers are often written in words in one of the languages
_YEARS = range(1000, 2100)
_CLOCK = 12


def copy(pair: Pair) -> float:
    """The share of words that both sides have, case aside. 0 if a side has fewer than three words.

    Where there are no spaces between words, here and below, each character is a word, but two of them count as one.
    """
    if min(map(n_words, pair.sides)) < _WORD_FROM:
        return 0.0
    src, tgt = (split_words(side.casefold()) for side in pair.sides)
    n_common = sum((Counter(src) & Counter(tgt)).values())
    return 2 * n_common / (len(src) + len(tgt))


def control(pair: Pair) -> float:
    """Control and zero-width characters: of broken encodings, of web pages, or invisible hyphens."""
    return float(sum(map(_n_control, pair.sides)))


def mojibake(pair: Pair) -> float:
    """Places where UTF-8 was read as Windows-1252 or Latin-1, such as "Ã©" for "é", and lost characters (U+FFFD)."""
    return float(
        sum(side.count(_LOST) + len(_misread().findall(side)) if not side.isascii() else 0 for side in pair.sides)
    )


def entities(pair: Pair) -> float:
    """Escaped characters, such as &amp; or &#39;."""
    found = (name for side in pair.sides if "&" in side for name in _ENTITY.findall(side))
    return float(sum(name[1] == "#" or name[1:] in html.entities.html5 for name in found))


def tags(pair: Pair) -> float:
    """Tags and comments of HTML."""
    return float(sum(len(_TAG.findall(side)) for side in pair.sides if "<" in side))


def letters(pair: Pair) -> float:
    """The share of characters, spaces aside, that are not letters."""
    return max(map(_share_without_letters, pair.sides))


def script(pair: Pair) -> float:
    """The share of letters that the language is not written with. 0 for a language whose script is not known."""
    return 1 - min(written_in(pair.src, pair.src_lang), written_in(pair.tgt, pair.tgt_lang))


def language(pair: Pair) -> float:
    """How sure it is that a side has another language than it should; 0 if it has the right one."""
    return max(surely_other(pair.src, pair.src_lang), surely_other(pair.tgt, pair.tgt_lang))


def words(pair: Pair) -> float:
    """Words of the longer side."""
    return float(max(map(n_words, pair.sides)))


def char_ratio(pair: Pair) -> float:
    """Characters of the longer side over those of the shorter one, each with ten more.

    Without these "Non." and "Absolutely not." would be as suspicious as a line and a paragraph.
    """
    shorter, longer = sorted(len(side.strip()) for side in pair.sides)
    return (longer + 10) / (shorter + 10)


def long_word(pair: Pair) -> float:
    """Characters of the longest word that is not an address."""
    return float(max(map(_longest_word, pair.sides)))


def repetition(pair: Pair) -> float:
    """How often a word or a phrase stands in a row, at most."""
    return float(max(map(_longest_repetition, pair.sides)))


def numbers(pair: Pair) -> float:
    """(d + 1) / (a + 1), where d numbers differ and a numbers agree; 0 without numbers.

    A small or round number or a year that only one side has may be written in words, or as a Roman number, in the other
    one. So it counts neither way. 3 in one side is 15 in the other one if people say 3 p.m. and 15 h.
    """
    src, tgt = map(_numbers, pair.sides)
    if not src and not tgt:
        return 0.0
    n_equal = sum((src & tgt).values())
    only_src, only_tgt = src - tgt, tgt - src
    n_clock = sum(
        min(count, only_tgt[number + _CLOCK]) + min(count, only_tgt[number - _CLOCK])
        for number, count in only_src.items()
        if number <= 2 * _CLOCK
    )
    n_src, n_tgt = only_src.total() - n_clock, only_tgt.total() - n_clock
    if min(n_src, n_tgt) <= 0:
        n_different = sum(n for number, n in (only_src + only_tgt).items() if not _may_be_in_words(number))
    else:
        n_different = n_src + n_tgt
    return (n_different + 1) / (n_equal + n_clock + 1)


def urls(pair: Pair) -> float:
    """Addresses of pages and of mail that one side has more than the other."""
    src, tgt = (len(_URL.findall(side)) if "/" in side or "@" in side or "www" in side else 0 for side in pair.sides)
    return float(abs(src - tgt))


def punctuation(pair: Pair) -> float:
    """Ends of sentences that one side has more than the other. Marks in a row are one end."""
    src, tgt = map(_sentence_ends, pair.sides)
    return float(abs(src - tgt))


def normal_forms(pair: Pair) -> float:
    """Sides that Unicode's normal form C changes, as it joins a letter with an accent behind it."""
    return float(sum(not unicodedata.is_normalized("NFC", side) for side in pair.sides))


def normal_forms_of(text: str) -> str:
    """The normal form of a text: `any` without accents, `NFC`, `NFD`, or `mixed`."""
    if text.isascii():
        return "any"
    is_composed, is_decomposed = (unicodedata.is_normalized(form, text) for form in ("NFC", "NFD"))
    if is_composed:
        return "any" if is_decomposed else "NFC"
    return "NFD" if is_decomposed else "mixed"


def _n_control(text: str) -> int:
    if text.isprintable():  # the usual case: no control character, and no zero-width one
        return 0
    return sum(
        character in _ZERO_WIDTH or (unicodedata.category(character) == "Cc" and character not in _NEEDED)
        for character in text
    )


def _share_without_letters(text: str) -> float:
    """Marks count as letters: some scripts write vowels with them."""
    n_characters = sum(map(len, text.split()))
    if not n_characters:
        return 0.0
    return 1 - sum(map(len, _LETTERS.findall(text))) / n_characters


def _longest_word(text: str) -> int:
    longest = max(map(len, split_words(text)), default=0)
    if longest > 20 and _URL.search(text):
        return max(map(len, split_words(_URL.sub("", text))), default=0)
    return longest


def _longest_repetition(text: str) -> int:
    found = split_words(text.casefold())
    if len(found) == len(set(found)):
        return 1
    longest = 1
    shortest_period = _CHARACTERS_OF_A_WORD if is_unspaced(text) else 1
    for period in range(shortest_period, min(_LONGEST_PERIOD, len(found) // 2) + 1):
        run = 0  # words in a row that are the same as those one period before
        for word, before in zip(found[period:], found, strict=False):
            run = run + 1 if word == before else 0
            longest = max(longest, 1 + run // period)
    return longest


def _numbers(text: str) -> Counter[int]:
    if not any(map(str.isdigit, text)):
        return Counter()
    found = (_NOT_A_DIGIT.sub("", number) for number in _NUMBER.findall(text))
    return Counter(int(number[:20]) for number in found)


def _may_be_in_words(number: int) -> bool:
    return number < _IN_WORDS_BELOW or number % 100 == 0 or number in _YEARS


def _sentence_ends(text: str) -> int:
    return len(_SENTENCE_END.findall(_SHORT_FORM.sub("", text)))


@cache
def _misread() -> re.Pattern[str]:
    """Finds what two or three bytes of UTF-8 become in Windows-1252 or Latin-1.

    Only bytes of characters that European text has: letters with accents, quotes, dashes, spaces, the euro sign. So
    "CAFÉ»" is no fault, though É and » are also the bytes of a rare letter.
    """
    after = "".join(sorted({_as_seen(byte) for byte in range(0x80, 0xC0)} | {chr(byte) for byte in range(0x80, 0xC0)}))
    letter = f"[\u00c2\u00c3\u00c4\u00c5][{re.escape(after)}]"
    mark = f"\u00e2[\u20ac\u0080\u201a\u0082][{re.escape(after)}]"
    return re.compile(f"{letter}|{mark}")


def _as_seen(byte: int) -> str:
    return bytes([byte]).decode("cp1252", errors="replace").replace(_LOST, chr(byte))
