"""What of a text the analysis looks at: words of letters, numbers, names."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal

from seq2seq import characters

# Digits in groups of three are one number, whatever the separator of a language: 1,000 and 1.000 and 1 000.
_DIGITS = r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,'’٫٬]\d+)*"
# Chinese, Japanese and Korean write 12万 for 120,000, and 3亿5000万. 兆 is no unit here: it has two meanings.
_ZEROS = {"十": 1, "百": 2, "千": 3, "万": 4, "萬": 4, "만": 4, "億": 8, "亿": 8, "억": 8, "조": 12}
_UNITS = r"\d+(?:,\d+)*(?:\.\d+)?[十百千]?[万萬만億亿억조]"
_NUMBER = re.compile(rf"{_UNITS}(?: ?{_UNITS})*(?:\d{{1,4}}(?![\d.,]))?|{_DIGITS}")
_PART = re.compile(rf"(\d+(?:,\d+)*(?:\.\d+)?)([{''.join(_ZEROS)}]*)")
_LETTER = r"[^\W\d_]"
_INSIDE = r"[/\\=@:.$#+]"
_CODE = re.compile(
    rf"(?:^[$@#%&\\]|^--|[\d_]|\w{_INSIDE}){_LETTER}|{_LETTER}(?:[\d_]|{_INSIDE}\w)|[a-z][A-Z]|::|->|\w\(\)|\d\("
)
_BRACKETS = re.compile(r"[()\[\]{}]")
_BETWEEN_CODES = re.compile("['’，。、；：！？（）「」『』《》،؛؟۔।॥]")  # l'E_ALL; others have no spaces beside them
_AROUND_CODE = '.,;:!?…"“”„«»‘'
_ENDS = ".!?…:;"  # a word after one of these may have a capital because a sentence begins
_ALPHABETS = dict.fromkeys(("Hiragana", "Katakana", "Katakana-Hiragana", "Ideographic"), "Cjk")
_QUOTES = "\"“”«»„‘’'"  # and so may what is quoted


def letter_words(text: str) -> list[str]:
    """The words of letters, without case: `l'Homme` has two. Without spaces between words, each character is one."""
    return characters.letter_words(characters.composed(text, "NFKC").casefold())


def numbers(text: str) -> dict[str, str]:
    """Each number that is written in digits: its digits alone, and how the text writes it first.

    Separators differ between languages (3.5 and 3,5), so two numbers are the same if their digits are. Those of 12万
    are 120000. A number in words is none, nor is 三百.
    """
    found: dict[str, str] = {}
    for match in _NUMBER.finditer(characters.composed(text, "NFKC")):
        number = _value(match[0]) if _ZEROS.keys() & match[0] else match[0]
        digits = "".join(str(unicodedata.decimal(character)) for character in number if character.isdecimal())
        found.setdefault(digits, match[0])
    return found


def _value(number: str) -> str:
    """A number with units such as 万 in digits alone."""
    value = Decimal()
    for digits, units in _PART.findall(number):
        value += Decimal(digits.replace(",", "")).scaleb(sum(_ZEROS[unit] for unit in units))
    return f"{value:f}"


def codes(text: str) -> dict[str, str]:
    """Words that are written alike in all languages: `E_ALL`, `strlen()`, `php.ini`, `$this->id`, `x86`, `9(1)a)`.

    They have letters beside digits, or marks or capitals inside. Brackets do not count: French law writes 9(1)a), and
    English law 9(1)(a).

    Returns:
        Each without brackets, and how the text writes it first.
    """
    found: dict[str, str] = {}
    for token in characters.split_words(text):
        for part in _BETWEEN_CODES.split(token):
            if _CODE.search(word := part.strip(_AROUND_CODE)):
                found.setdefault(_BRACKETS.sub("", word), word)
    return found


def names(text: str) -> Iterator[str]:
    """Words with a capital inside a sentence. None of a text in capitals, which says nothing about names.

    Chinese and the like have no capitals, and only words of other letters inside of them are found.
    """
    letters = [character for character in text if character.isalpha()]
    if 2 * sum(map(str.isupper, letters)) > len(letters):
        return
    begins = True
    for token in characters.split_words(text):
        words = characters.letter_words(token)
        if not begins and token[0] not in _QUOTES:
            yield from (word for word in words if word[0].isupper() and len(word) > 1)
        end = token.rstrip(_QUOTES + ")]")[-1:]
        begins = end in _ENDS  # also after a quotation mark with spaces around it, which leaves no end


def scripts(text: str) -> set[str]:
    """The alphabets of the letters of a text: Latin, Cyrillic. Those of Chinese and Japanese are one, Cjk.

    A wide or a small letter is one of its alphabet: ｆ and º are Latin.
    """
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", "".join(set(text))))
    return {_ALPHABETS.get(name, name) for name in map(characters.script_of, letters)}


def mostly(has: Callable[[str], bool], texts: Collection[str]) -> bool:
    """Whether more than half of the texts have something."""
    return 2 * sum(map(has, texts)) > len(texts)
