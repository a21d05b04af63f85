"""The case of letters, and their accents."""

import random
import re
import unicodedata
from collections.abc import Sequence

import regex

_OPENING = r"[\"'’‘“„«‹(\[{<¿¡*–—-]*"  # may stand before a word without a space
_FIRST_LETTER = re.compile(rf"(?<!\S){_OPENING}[^\W\d_]")
_ELIDED = re.compile(rf"(?<!\S){_OPENING}(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu)['’][^\W\d_]", re.IGNORECASE)

_LIGATURE = re.compile("[ŒÆœæ]")
_LIGATURES = {"Œ": ("Oe", "OE"), "Æ": ("Ae", "AE"), "œ": ("oe", "oe"), "æ": ("ae", "ae")}
# These have no decomposition in Unicode.
_STROKED = str.maketrans("đĐłŁøØı", "dDlLoOi")
_MARKED = regex.compile(r"(?V1)[\p{Latin}--\p{ASCII}]\p{M}*|[A-Za-z]\p{M}+")


def upper(texts: Sequence[str], draw: random.Random) -> list[str]:
    return [text.upper() for text in texts]


def lower(texts: Sequence[str], draw: random.Random) -> list[str]:
    # Python makes two characters of İ, the second of them a lone dot.
    return [text.replace("İ", "i").lower() for text in texts]


def title(texts: Sequence[str], draw: random.Random) -> list[str]:
    """Every word begins with a capital, and keeps its other letters. `l'eau` becomes `L'eau` or `L'Eau`."""
    titled = [_FIRST_LETTER.sub(_with_capital, text) for text in texts]
    return [_ELIDED.sub(_with_capital, text) for text in titled] if draw.random() < 0.5 else titled


def without_accents(text: str, draw: random.Random) -> str:
    """Latin letters without accents and ligatures. In other scripts marks belong to the letter (й, ё), so they stay."""
    return _MARKED.sub(_plain, _LIGATURE.sub(_two_letters, text))


def _plain(match: regex.Match[str]) -> str:
    letter = unicodedata.normalize("NFD", match[0][0])[0].translate(_STROKED)
    return letter if letter.isascii() else match[0]


def _with_capital(match: re.Match[str]) -> str:
    return match[0][:-1] + match[0][-1].title()


def _two_letters(match: re.Match[str]) -> str:
    """`Œuvre` becomes `Oeuvre`, and `ŒUVRE` becomes `OEUVRE`."""
    before_small, otherwise = _LIGATURES[match[0]]
    return before_small if match.string[match.end() : match.end() + 1].islower() else otherwise
