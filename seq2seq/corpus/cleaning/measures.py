"""The rules: what can be wrong with a pair, each as a number that is 0 or small for good text, in every script.

A pair is dropped if a measure is above its threshold (`config/clean.py`). The first rule that drops it is its reason. A
measure looks at one pair alone. If it looks at each side alone, the worse side counts. Where there are no spaces
between words (`characters.py`), each character is a word, but two of them count as one.

The work grows with the length of a line, whatever it is: no pattern here can try the same characters again and again.
"""

import html.entities
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import regex

from seq2seq.characters import STOPS, is_unspaced, n_words, split_words
from seq2seq.corpus.cleaning.languages import surely_other, written_in
from seq2seq.corpus.cleaning.numbers import difference

VERSION = 4  # raise it when a measure changes: prepared text is then made again

# ASCII alone: what follows an address without a space in Chinese or Thai is no part of it.
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[!#-;=?-~]+|(?<![a-zA-Z0-9._+-])[a-zA-Z0-9._+-]+@[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+"
)
TAG = regex.compile(
    r"</?[a-zA-Z][a-zA-Z0-9]*+"
    r"""(?:\s++[\w:-]++\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>]++))*+\s*+/?>|<!--"""  # never beyond another <
)
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_SENTENCE_END = regex.compile(f"(?V1){STOPS}+")
# Thai and Lao have a space after a sentence, and Tibetan a mark after each phrase.
_WITHOUT_STOPS = re.compile("[\u0e00-\u0fff]")
# An abbreviation, or an initial: its full stop ends no sentence. To `re`, a mark of Arabic or Hindi would end a word.
_SHORT_FORM = regex.compile(r"(?<=\b(?:[^\W\d_]|Mr|Mrs|Ms|Dr|St|Mme|Mlle|etc|vs|[Nn]o))\.|(?<=\d)[.,](?=\d)")
# Zero-width characters that no text needs. Joiners and marks of direction are left out: emoji and some scripts do.
_ZERO_WIDTH = frozenset("\u00ad\u200b\u2060\ufeff\u2028\u2029")
_BETWEEN_WORDS = "\u200b"  # that are not separated by a space: a place to break a line in Khmer and its neighbours
_LETTERS = regex.compile(r"[\p{L}\p{M}]+")
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\U0010ffff]")  # has all of the next two, and spares other text the search
_HAN, _SYLLABLES = regex.compile(r"\p{Han}"), regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Hangul}]")
_LAUGHTER = re.compile("([哈呵嘿嘻ハは])\\1+")
_LOST = "\ufffd"
# What bytes of UTF-8 become in Windows-1252 or Latin-1: two characters in a row, or one that European text has. So
# "CAFÉ»" is no fault, though É and » are also the bytes of a rare letter.
_AFTER = "".join(
    re.escape(each)
    for byte in range(0x80, 0xC0)
    for each in {chr(byte), bytes([byte]).decode("cp1252", errors="replace").replace(_LOST, chr(byte))}
)
_BYTES = [f"[\u00c2-\u00df][{_AFTER}]", f"[\u00e0-\u00ef][{_AFTER}]{{2}}", f"[\u00f0-\u00f4][{_AFTER}]{{3}}"]
MISREAD = re.compile(
    f"[\u00c2-\u00c5][{_AFTER}]|\u00e2[\u20ac\u0080\u201a\u0082][{_AFTER}]|"
    + "|".join(f"{character}(?:{'|'.join(_BYTES)})" for character in _BYTES)
)
_WORD_FROM = 3  # words from which a copy is one; a name or an exclamation is the same in both languages
_LONGEST_PERIOD = 8  # words of a phrase that repeats
_CHARACTERS_OF_A_WORD = 3  # at most, where there are no spaces
_PERIODS = [re.compile(f"(.{{{period}}})\\1+") for period in range(1, 25)]


class Side:
    """A sentence, and what several rules need to know of it."""

    def __init__(self, text: str, language: str) -> None:
        self.text, self.language = text, language

    @cached_property
    def words(self) -> list[str]:
        return split_words(self.text.casefold())

    @cached_property
    def n_words(self) -> int:
        return n_words(self.text)

    @cached_property
    def without_addresses(self) -> str:
        text = self.text
        return _ADDRESS.sub("", text) if "/" in text or "@" in text or "www" in text else text


class Pair:
    """A source and its translation, with their languages."""

    def __init__(self, src: str, tgt: str, src_lang: str, tgt_lang: str) -> None:
        self.src, self.tgt = Side(src, src_lang), Side(tgt, tgt_lang)

    def __iter__(self) -> Iterator[Side]:
        return iter((self.src, self.tgt))


def copy(pair: Pair) -> float:
    """The share of words that both sides have, case aside. 0 if a side has fewer than three words."""
    if min(side.n_words for side in pair) < _WORD_FROM:
        return 0.0
    src, tgt = pair.src.words, pair.tgt.words
    n_common = sum((Counter(src) & Counter(tgt)).values())
    return 2 * n_common / (len(src) + len(tgt))


def control(pair: Pair) -> float:
    """Control and zero-width characters: of broken encodings, of web pages, or invisible hyphens."""
    return float(sum(_n_control(side.text) for side in pair))


def mojibake(pair: Pair) -> float:
    """Places where UTF-8 was read as Windows-1252 or Latin-1, such as "Ã©" for "é", and lost characters (U+FFFD)."""
    texts = (side.text for side in pair if not side.text.isascii())
    return float(sum(text.count(_LOST) + len(MISREAD.findall(text)) for text in texts))


def entities(pair: Pair) -> float:
    """Escaped characters, such as &amp; or &#39;."""
    found = (name for side in pair if "&" in side.text for name in ENTITY.findall(side.text))
    return float(sum(name[1] == "#" or name[1:] in html.entities.html5 for name in found))


def tags(pair: Pair) -> float:
    """Tags and comments of HTML."""
    return float(sum(len(TAG.findall(side.text)) for side in pair if "<" in side.text))


def letters(pair: Pair) -> float:
    """The share of characters, spaces and addresses aside, that are not letters. A syllable is several letters."""
    return max(_share_without_letters(side.without_addresses) for side in pair)


def script(pair: Pair) -> float:
    """The share of letters that the language is not written with. 0 for a language whose script is not known.

    Addresses do not count, nor do Latin words that the other side has too, such as names, beside letters of the script.
    """
    src, tgt = (side.without_addresses for side in pair)
    return 1 - min(written_in(src, pair.src.language, tgt), written_in(tgt, pair.tgt.language, src))


def language(pair: Pair) -> float:
    """How sure it is that a side has another language than it should; 0 if it has the right one."""
    return max(surely_other(side.without_addresses, side.language) for side in pair)


def words(pair: Pair) -> float:
    """Words of the longer side."""
    return float(max(side.n_words for side in pair))


def char_ratio(pair: Pair) -> float:
    """Letters of the longer side over those of the shorter one, each with ten more. A syllable is several letters.

    Without these "Non." and "Absolutely not." would be as suspicious as a line and a paragraph.
    """
    shorter, longer = sorted(n_letters(side.text.strip()) for side in pair)
    return (longer + 10) / (shorter + 10)


def long_word(pair: Pair) -> float:
    """Characters of the longest word that is not an address."""
    return float(max(len(word) for side in pair for word in ["", *split_words(side.without_addresses)]))


def repetition(pair: Pair) -> float:
    """How often a word or a phrase stands in a row, at most."""
    return float(max(map(_longest_repetition, pair)))


def numbers(pair: Pair) -> float:
    """(d + 1) / (a + 1), where d numbers differ and a numbers agree; 0 without numbers (`numbers.py`)."""
    return difference(pair.src.text, pair.tgt.text)


def urls(pair: Pair) -> float:
    """Addresses of pages and of mail that one side has more than the other."""
    src, tgt = (len(_ADDRESS.findall(side.text)) if side.without_addresses != side.text else 0 for side in pair)
    return float(abs(src - tgt))


def punctuation(pair: Pair) -> float:
    """Ends of sentences that one side has more than the other. Marks in a row are one end.

    0 if a side is written without them, as Thai, Lao and Tibetan are.
    """
    if any(not side.text.isascii() and _WITHOUT_STOPS.search(side.text) for side in pair):
        return 0.0
    src, tgt = (len(_SENTENCE_END.findall(_SHORT_FORM.sub("", side.text))) for side in pair)
    return float(abs(src - tgt))


def normal_forms(pair: Pair) -> float:
    """Sides that Unicode's normal form C changes, as it joins a letter with an accent behind it."""
    return float(sum(not unicodedata.is_normalized("NFC", side.text) for side in pair))


def normal_forms_of(text: str) -> str:
    """The normal form of a text: `any` without accents, `NFC`, `NFD`, or `mixed`."""
    if text.isascii():
        return "any"
    is_composed, is_decomposed = (unicodedata.is_normalized(form, text) for form in ("NFC", "NFD"))
    if is_composed:
        return "any" if is_decomposed else "NFC"
    return "NFD" if is_decomposed else "mixed"


def n_letters(text: str) -> int:
    """The length of a text in letters of an alphabet: a Han character is three, a syllable of Japanese or Korean two.

    Good pairs (`tests/corpus/cleaning/good_pairs.tsv`) have 2.9 characters of English for one of Chinese, 2.2 for
    one of Japanese, and 1.9 for one of Korean. Other scripts are between 0.9 and 1.3.
    """
    return len(as_letters(text))


def as_letters(text: str) -> str:
    """The text with as many characters as it has letters by that count."""
    return text if not _WIDE.search(text) else _SYLLABLES.sub(r"\g<0>\g<0>", _HAN.sub(r"\g<0>\g<0>\g<0>", text))


def _n_control(text: str) -> int:
    if text.isprintable():  # the usual case: no control character, and no zero-width one
        return 0
    allowed = "\t" + _BETWEEN_WORDS * is_unspaced(text)
    return sum(
        character not in allowed and (character in _ZERO_WIDTH or unicodedata.category(character) == "Cc")
        for character in text
    )


def _share_without_letters(text: str) -> float:
    """Marks count as letters: some scripts write vowels with them."""
    text = "".join(as_letters(text).split())
    return 1 - sum(map(len, _LETTERS.findall(text))) / len(text) if text else 0.0


def _longest_repetition(side: Side) -> int:
    found = side.words
    if len(found) == len(set(found)):
        return 1
    longest_period = _LONGEST_PERIOD
    if is_unspaced(side.text):
        longest_period *= _CHARACTERS_OF_A_WORD
        found = split_words(_LAUGHTER.sub(r"\1", side.text.casefold()))
    found = found[:1_000_000]  # as many characters there are
    numbers = {word: chr(number) for number, word in enumerate(dict.fromkeys(found), start=0x10000)}
    row = "".join(map(numbers.__getitem__, found))  # a character for each word
    return max(
        (
            len(match[0]) // period
            for period, pattern in enumerate(_PERIODS[: min(longest_period, len(row) // 2)], start=1)
            for match in pattern.finditer(row)
        ),
        default=1,
    )


class Rule(NamedTuple):
    """A measure, and why a pair is dropped by it; whether it counts faults, none of which good text has."""

    measure: Callable[[Pair], float]
    reason: str
    is_count: bool = False

    @property
    def name(self) -> str:
        return self.measure.__name__


RULES = (  # in the order in which they look at a pair
    Rule(copy, "the translation is the source"),
    Rule(control, "a control or zero-width character", is_count=True),
    Rule(mojibake, "read in the wrong encoding", is_count=True),
    Rule(entities, "an escape such as &amp;", is_count=True),
    Rule(tags, "a tag of HTML", is_count=True),
    Rule(letters, "few letters"),
    Rule(script, "letters of another script"),
    Rule(language, "another language"),
    Rule(words, "a long side"),
    Rule(char_ratio, "one side is much longer"),
    Rule(long_word, "a very long word"),
    Rule(repetition, "words that go round in circles"),
    Rule(numbers, "other numbers"),
    Rule(urls, "an address on one side", is_count=True),
    Rule(punctuation, "other ends of sentences"),
    Rule(normal_forms, "letters and accents apart", is_count=True),
)
