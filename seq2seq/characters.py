r"""What is a letter, a stop, a space and a word, in every script: the Unicode database says it, by its properties.

`regex` knows these by name. Its `\w` has the marks that belong to a letter (Indic vowels, points of Hebrew and Arabic,
accents), which that of `re` lacks. The sets here are for patterns of `regex` with (?V1), where `--` takes a set away.
"""

import re
import unicodedata
from functools import cache
from typing import Literal

import regex

# By their codes in ISO 639-1 and -3. Thai and its neighbours have a space between sentences.
_EAST_ASIAN_LANGUAGES = re.compile("cmn|ja|jpn|wuu|yue|zho?")
_UNSPACED_LANGUAGES = re.compile(f"{_EAST_ASIAN_LANGUAGES.pattern}|bod?|dzo?|khm|km|lao|lo|mya?|tha?")
# Chinese and Japanese with their wide punctuation; CJ is a line break class of Unicode, which has small kana.
_WIDE = r"[[\p{East_Asian_Width=W}\p{East_Asian_Width=F}\p{East_Asian_Width=H}]&&\p{P}]"
EAST_ASIAN = rf"[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}\p{{Line_Break=CJ}}\p{{Bopomofo}}\p{{Yi}}{_WIDE}]"
# All scripts without spaces between words. In the class SA are those whose words only a dictionary tells apart: Thai,
# Lao, Khmer, Burmese and their neighbours. Their signs belong to them. The range is that of all of them, and looked at
# first: it spares Latin letters the properties.
UNSPACED = (
    rf"[[\u02ea-\U0010ffff]&&[{EAST_ASIAN}\p{{Line_Break=SA}}\p{{Thai}}\p{{Lao}}\p{{Khmer}}\p{{Myanmar}}\p{{Tibetan}}]]"
)

# What ends sentences. Unicode leaves out the ellipsis and the stops of Tibetan, which it has no others for. Left out
# here are what became a comma in Burmese, and the dot that is a comma in Armenian.
STOPS = r"[[\p{Sentence_Terminal}…།༎]--[၊․]]"
LONE_STOPS = rf"[{STOPS}--[.!?．…‼⁇⁈⁉]]"  # that stand nowhere else, as in abbreviations, numbers or names

STOP = regex.compile(f"(?V1){STOPS}")

LETTERS = r"[\w--[\d_]]"
LETTER_ROW = regex.compile(f"(?V1){LETTERS}+")
# A letter with its marks, an emoji, a flag. By itself, \X looks back to the first flag of a row.
CHARACTER = regex.compile(r"\p{Regional_Indicator}{2}\p{Grapheme_Extend}*+|\X")
# A letter of such a script with all that is written around it; Unicode's clusters leave out some marks of Burmese.
_CHARACTER = rf"(?=[{UNSPACED}&&\w])\X(?:\p{{M}}|\p{{Indic_Syllabic_Category=Invisible_Stacker}}\w)*+"
_UNSPACED_LETTER = regex.compile(rf"(?V1)[{UNSPACED}&&\w]")
# U+001C to U+001F are spaces for Python, and not for Unicode.
_SPLIT = regex.compile(rf"(?V1){_CHARACTER}|(?:(?![{UNSPACED}&&\w])[^\s\x1c-\x1f])+")
_SPACED_WORD = re.compile(r"\S+")
_LETTER_WORDS = regex.compile(rf"(?V1)(?=[{UNSPACED}&&{LETTERS}]){_CHARACTER}|[{LETTERS}--{UNSPACED}]+")
# No letter, or one letter of an alphabet, which is a name in a list and no word.
_NO_WORD = regex.compile(
    r"(?V1)\P{L}*|[^\p{L}\p{N}]*[\p{Cased_Letter}[\p{L}&&[\p{Bidi_Class=R}\p{Bidi_Class=AL}]]]\p{M}*[^\p{L}\p{N}]*"
)
# Of a longer row of marks only so many at a time are composed: Python takes the square of its length to sort it.
_MARKED = regex.compile(r"\P{M}*\p{M}{0,32}+")
_AROUND = regex.compile(r"^\W++|\W++$")
TOKEN = regex.compile(rf"(?V1){_CHARACTER}|[\w--[_{UNSPACED}]]+|[^\w\s]|_")  # a word, a character, or a sign

# A letter or digit of a script with spaces; U+FFFD stands for what was one.
SPACED = rf"[[\w\ufffd]--[_{UNSPACED}]]"
# A word with the marks inside it (don't, rendez-vous, 12.5), a character, or a sign. What is elided before a word is
# one: l'avocat has two. The group is there for all but signs.
WORD_OR_SIGN = regex.compile(
    rf"(?V1)({_CHARACTER}|{SPACED}{{1,2}}['’](?={SPACED})"
    rf"|{SPACED}++(?:(?:['’‐‑-]|(?<=\d)[.,:/٫٬](?=\d)){SPACED}++)*+)|(?:[^\w\s]|_)\p{{M}}*+"
)


@cache
def has_spaces(language: str) -> bool:
    """Whether a language, such as `fr`, `zh-CN` or `zho_Hans`, is written with spaces between words."""
    return not _UNSPACED_LANGUAGES.fullmatch(base_language(language))


@cache
def has_spaces_between_sentences(language: str) -> bool:
    """Whether a language has white space after a sentence."""
    return not _EAST_ASIAN_LANGUAGES.fullmatch(base_language(language))


@cache
def base_language(language: str) -> str:
    """The first part of a code, in small letters: `zh` of `zh-CN`, `zho` of `zho_Hans`."""
    return re.split("[-_]", language.lower())[0]


def is_unspaced(text: str) -> bool:
    """Whether a text has a letter of a script without spaces between words."""
    return not text.isascii() and _UNSPACED_LETTER.search(text) is not None


def split_words(text: str) -> list[str]:
    """What white space separates. Where there is none between words, each character is a word, with its marks."""
    return _SPLIT.findall(text) if is_unspaced(text) else text.split()


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each of `split_words(text)` begins and ends."""
    return [match.span() for match in (_SPLIT if is_unspaced(text) else _SPACED_WORD).finditer(text)]


def n_words(text: str) -> int:
    """How many words there are; two characters count as a word where there are no spaces, as it is in Chinese."""
    if not is_unspaced(text):
        return len(text.split())
    words = _SPLIT.findall(text)
    return len(words) - sum(map(is_unspaced, words)) // 2


def letter_words(text: str) -> list[str]:
    """Words of letters: `l'homme` has two. Marks and numbers are left out."""
    return _LETTER_WORDS.findall(text)


def bare(word: str) -> str:
    """A word without the marks around it; empty if it has only marks."""
    return word if word.isalpha() else _AROUND.sub("", word)


@cache
def stop_kind(stop: str) -> str:
    """What a mark that ends sentences says: `?` if it asks, `!` if it exclaims, and `.` if it does neither."""
    name = unicodedata.name(stop, "")
    if "QUESTION" in name or name == "INTERROBANG":
        return "?"
    return "!" if "EXCLAMATION" in name else "."


def has_word(text: str) -> bool:
    """Whether there is a word to translate: numbers, marks and a single letter are none, but each character is one
    where letters are syllables or more, as in Chinese or Hindi.
    """
    return not _NO_WORD.fullmatch(text)


@cache
def script_of(letter: str) -> str:
    """The script of a letter by its name in Unicode, such as Latin or Cjk; empty if it has none."""
    return unicodedata.name(letter, "").partition(" ")[0].title()


def composed(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """The text with each letter and its marks in one form, so that texts which look alike are equal."""
    return text if text.isascii() else "".join(unicodedata.normalize(form, part) for part in _MARKED.findall(text))
