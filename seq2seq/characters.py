r"""What is a letter, a stop, a space and a word, in every script: the Unicode database says it, by its properties.

`regex` knows these by name. Its `\w` has the marks that belong to a letter (Indic vowels, points of Hebrew and Arabic,
accents), which that of `re` lacks. The sets here are for patterns of `regex` with (?V1), where `--` takes a set away.
"""

import re
import unicodedata
from functools import cache

import regex

_UNSPACED_LANGUAGES = re.compile("bod?|cmn|dzo?|ja|jpn|khm|km|lao|lo|mya?|tha?|wuu|yue|zho?")  # ISO 639-1 and -3
# Scripts without spaces between words. Unicode has a class for those whose words only a dictionary tells apart (SA:
# Thai, Lao, Khmer, Burmese and their neighbours), and one for small kana (CJ). The signs of these scripts belong to
# them, and the wide punctuation of Chinese and Japanese.
_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Yi}\p{Tibetan}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WIDE = r"[[\p{East_Asian_Width=W}\p{East_Asian_Width=F}\p{East_Asian_Width=H}]&&\p{P}]"
UNSPACED = rf"[\p{{Line_Break=SA}}\p{{Line_Break=CJ}}{_SCRIPTS}{_WIDE}]"

# What ends sentences. Unicode leaves out the ellipsis and the stops of Tibetan, which it has no others for. Left out
# here are what became a comma in Burmese, and the dot that is a comma in Armenian.
STOPS = r"[[\p{Sentence_Terminal}…།༎]--[၊․]]"
LONE_STOPS = rf"[{STOPS}--[.!?．…‼⁇⁈⁉]]"  # that stand nowhere else, as in abbreviations, numbers or names

LETTERS = r"[\w--[\d_]]"
# A letter of such a script with all that is written around it; Unicode's clusters leave out some marks of Burmese.
_CHARACTER = rf"(?=[\w&&{UNSPACED}])\X(?:\p{{M}}|\p{{Indic_Syllabic_Category=Invisible_Stacker}}\w)*+"
_UNSPACED_LETTER = regex.compile(rf"(?V1)[\w&&{UNSPACED}]")
_SPLIT = regex.compile(rf"(?V1){_CHARACTER}|(?:(?![\w&&{UNSPACED}])\S)+")
_LETTER_WORDS = regex.compile(rf"(?V1)(?=[{LETTERS}&&{UNSPACED}]){_CHARACTER}|[{LETTERS}--{UNSPACED}]+")
TOKEN = regex.compile(rf"(?V1){_CHARACTER}|[\w--[_{UNSPACED}]]+|[^\w\s]|_")  # a word, a character, or a sign


def has_spaces(language: str) -> bool:
    """Whether a language, such as `fr`, `zh-CN` or `zho_Hans`, is written with spaces between words."""
    return not _UNSPACED_LANGUAGES.fullmatch(re.split("[-_]", language.lower())[0])


def is_unspaced(text: str) -> bool:
    """Whether a text has a letter of a script without spaces between words."""
    return not text.isascii() and _UNSPACED_LETTER.search(text) is not None


def split_words(text: str) -> list[str]:
    """What white space separates. Where there is none between words, each character is a word, with its marks."""
    return _SPLIT.findall(text) if is_unspaced(text) else text.split()


def n_words(text: str) -> int:
    """How many words there are; two characters count as a word where there are no spaces, as it is in Chinese."""
    n_characters = 0 if text.isascii() else len(_UNSPACED_LETTER.findall(text))
    return len(_UNSPACED_LETTER.sub(" ", text).split()) + (n_characters + 1) // 2 if n_characters else len(text.split())


def letter_words(text: str) -> list[str]:
    """Words of letters: `l'homme` has two. Marks and numbers are left out."""
    return _LETTER_WORDS.findall(text)


@cache
def script_of(letter: str) -> str:
    """The script of a letter by its name in Unicode, such as Latin or Cjk; empty if it has none."""
    return unicodedata.name(letter, "").partition(" ")[0].title()


def composed(text: str) -> str:
    """The text with each letter and its marks in one form, so that texts which look alike are equal."""
    return unicodedata.normalize("NFC", text)
