"""Whether a text is written in capitals or in title case, as headlines are."""

from itertools import pairwise

import regex

from seq2seq.characters import LETTERS, composed

# A word of prose: no part of an address or of code, such as error_reporting, $this, md5, assert.exception or now().
PROSE_WORD = regex.compile(rf"(?V1)(?<![-\w.:=/@&#$\\]){LETTERS}++(?:['’-]{LETTERS}++)*+(?![-\w=/@(\\]|[.:]+[\w/])")
_LEAST_LETTERS = 6
_LEAST_WORDS = 4  # of a title: three words with a capital are mostly a name
_SHORT = 3  # letters of a word that titles may write in lower case ("of", "and")


def is_in_capitals(text: str) -> bool:
    """Whether the words are in capitals, except for code and names such as iPhone.

    Acronyms alone are no text in capitals: "USA", "ONU, OTAN".
    """
    if sum(map(str.isupper, text)) < _LEAST_LETTERS:
        return False
    words = [word for word in PROSE_WORD.findall(text) if word.isupper() or not _is_mixed(word)]
    letters = "".join(words)
    if any(map(str.islower, letters)) or sum(map(str.isupper, letters)) < _LEAST_LETTERS:
        return False
    return any(
        a[-1].isalnum() and a.isupper() and b.isupper() and _is_long(a) and _is_long(b)
        for a, b in pairwise(text.split())
    )


def is_in_title_case(text: str) -> bool:
    """Whether every word begins with a capital, except that short ones need not: "A Man With a Red Hat".

    Code says nothing, and so do words that have capitals inside in every text: NASA, iPhone, TypeError.
    """
    words = [word for word in PROSE_WORD.findall(text) if not _is_mixed(word)]
    if len(words) < _LEAST_WORDS or any(len(word) > _SHORT and not is_capitalised(word) for word in words):
        return False
    n_capitalised = sum(map(is_capitalised, words))
    return n_capitalised >= _LEAST_WORDS - 1 and 5 * n_capitalised >= 3 * len(words)


def _is_long(word: str) -> bool:
    return sum(map(str.isalpha, word)) > 1


def _is_mixed(word: str) -> bool:
    """Whether it has capitals, and not its first letter alone: NASA, iPhone."""
    return any(map(str.isupper, word)) and not is_capitalised(word)


def is_capitalised(word: str) -> bool:
    """Whether the first letter is a capital, and no letter of the word is one that another letter comes before."""
    word = composed(word)
    return word[:1].isupper() and not any(letter.isupper() and before.isalpha() for before, letter in pairwise(word))
