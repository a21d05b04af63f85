"""What of a text the analysis looks at: words of letters, numbers, names."""

import re
import unicodedata
from collections.abc import Iterator

from seq2seq import characters

# Digits in groups of three are one number, whatever the separator of a language: 1,000 and 1.000 and 1 000.
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’]\d+)*")
_ENDS = ".!?…:;"  # a word after one of these may have a capital because a sentence begins
_QUOTES = "\"“”«»„‘’'"  # and so may what is quoted


def letter_words(text: str) -> list[str]:
    """The words of letters, without case: `l'Homme` has two. Without spaces between words, each character is one."""
    return characters.letter_words(unicodedata.normalize("NFKC", text).casefold())


def numbers(text: str) -> dict[str, str]:
    """Each number that is written in digits: its digits alone, and how the text writes it first.

    Separators differ between languages (3.5 and 3,5), so two numbers are the same if their digits are.
    """
    found: dict[str, str] = {}
    for match in _NUMBER.finditer(unicodedata.normalize("NFKC", text)):
        digits = "".join(str(unicodedata.decimal(character)) for character in match[0] if character.isdecimal())
        found.setdefault(digits, match[0])
    return found


def names(text: str) -> Iterator[str]:
    """Words with a capital inside a sentence. None of a text in capitals, which says nothing about names."""
    cased = [character for character in text if character.isupper() or character.islower()]
    if 2 * sum(map(str.isupper, cased)) > len(cased):
        return
    begins = True
    for token in text.split():
        words = characters.letter_words(token)
        if not begins and token[0] not in _QUOTES:
            yield from (word for word in words if word[0].isupper() and len(word) > 1)
        end = token.rstrip(_QUOTES + ")]")[-1:]
        begins = end in _ENDS  # also after a quotation mark with spaces around it, which leaves no end


def scripts(text: str) -> set[str]:
    """The alphabets of the letters of a text: Latin, Cyrillic, Cjk."""
    return {characters.script_of(character) for character in set(text) if character.isalpha()}
