"""A headline in sentence case, and its translation as a headline again.

    DEUX HOMMES JOUENT.  is read as  Deux hommes jouent.  and  Two men are playing.  becomes  TWO MEN ARE PLAYING.

Nothing gets longer or shorter, so places stay places. Letters whose other case is two letters keep their case, except
that ß becomes ẞ.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

import regex

from seq2seq.characters import LETTER_ROW
from seq2seq.corpus.letter_case import PROSE_WORD, is_capitalised, is_in_capitals, is_in_title_case
from seq2seq.translation.text.splitting import cut

Style = Literal["capitals", "title"]
CountPieces = Callable[[str], int]

_BARE_WORD = regex.compile(r"[\w$@#](?:\S*\w)?")  # without the punctuation around it
_LATIN = regex.compile(r"\p{Latin}")
_ROMAN = re.compile(r"X{0,3}(?:IX|IV|V?I{0,3})")  # up to 39; with L and C, words such as DIX would be numbers
_ONE_LETTER_WORDS = {"en": "a", "fr": "aàyô"}
_VOWELS = "aàeèioòuy"
_APOSTROPHES = "'’"
_SHORT = 3  # letters of a word that a title may write in lower case
_FEWEST_CAPITALS = 4


class Styled(NamedTuple):
    """A sentence that is in capitals or in title case, in characters of its line."""

    start: int
    end: int
    style: Style


def styled_sentences(
    text: str, ends: Sequence[int], count_pieces: CountPieces, styles: Collection[Style]
) -> list[Styled]:
    """The sentences of `text` that are in one of these styles: all of them, if the whole text is.

    Args:
        ends: where sentences end.
        count_pieces: of a word. In a title, at least half of the words must be better known in lower case,
            since a list of names looks like a title.
    """
    if sum(map(str.isupper, text)) < _FEWEST_CAPITALS:
        return []
    parts = cut(text, 0, len(text), ends)
    whole = _style(text, count_pieces, styles)
    of_each = [whole or _style(text[start:end], count_pieces, styles) for start, end in parts]
    return [Styled(start, end, style) for (start, end), style in zip(parts, of_each, strict=True) if style]


def in_sentence_case(text: str, style: Style, count_pieces: CountPieces, src_lang: str) -> str:
    """A sentence in sentence case. A word keeps capitals if it is better known with them, as names and acronyms are."""
    characters = list(text)
    for number, match in enumerate(LETTER_ROW.finditer(text)):
        word = _word(text, match, style, count_pieces, src_lang)
        if number == 0 and word != match[0] and not any(map(str.isalnum, text[: match.start()])):  # else it is a name
            word = _upper(word[:1]) + word[1:]
        characters[match.start() : match.end()] = word
    return "".join(characters)


def given_back(text: str, style: Style, source: str, unchanged: Sequence[str] = ()) -> str:
    """A translation in the style of `source`. Words that stand there, too, stay as they are: iPhone, error_reporting.

    Args:
        unchanged: phrases that stay, too.
    """
    styled = _upper(text) if style == "capitals" else _title(text, source)
    words = set(_BARE_WORD.findall(source))
    spans = [match.span() for match in _BARE_WORD.finditer(text) if match[0] in words]
    whole = [rf"(?<!\w){regex.escape(phrase)}(?!\w)" for phrase in unchanged]
    spans += [match.span() for pattern in whole for match in regex.finditer(pattern, text)]
    for start, end in spans:
        styled = styled[:start] + text[start:end] + styled[end:]
    return styled


def _style(text: str, count_pieces: CountPieces, styles: Collection[Style]) -> Style | None:
    if "capitals" in styles and is_in_capitals(text):
        return "capitals"
    if "title" in styles and is_in_title_case(text):
        capitalised = [word for word in LETTER_ROW.findall(text)[1:] if is_capitalised(word)]
        counts = [(count_pieces(word.lower()), count_pieces(word)) for word in capitalised]
        n_known = sum(n_lower == 1 or n_lower < n for n_lower, n in counts)
        return "title" if 2 * n_known >= len(capitalised) else None
    return None


def _word(text: str, match: regex.Match[str], style: Style, count_pieces: CountPieces, src_lang: str) -> str:
    """A word of a headline as it is written inside a sentence."""
    word = match[0]
    before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    is_beside_digits = before.isdigit() or after.isdigit() or "_" in (before, after)
    is_styled = is_capitalised(word) if style == "title" else word.isupper()
    if is_beside_digits or not is_styled:
        return word
    if len(word) == 1:
        return word if _stays_capital(word, before, after, src_lang) else _lower(word)
    if style == "capitals" and _ROMAN.fullmatch(word):
        return word
    lower = _lower(word)
    forms = [lower, _upper(lower[:1]) + lower[1:], *([word] if style == "capitals" else [])]
    return min(forms, key=count_pieces)  # the first of those with as few pieces: training had it most often


def _stays_capital(letter: str, before: str, after: str, src_lang: str) -> bool:
    """Whether a single letter is no word (plan B, initials), or the English I."""
    language = src_lang.lower()[:2]
    if after and after in _APOSTROPHES:
        return language == "en" and letter == "I"  # I'm, but l'homme
    if before and before in _APOSTROPHES:
        return False  # don't
    if "." in (before, after) and before + after != ".":
        return True
    return _LATIN.match(letter) is not None and _lower(letter) not in _ONE_LETTER_WORDS.get(language, _VOWELS)


def _title(text: str, source: str) -> str:
    """With a capital at each word; at short ones inside only if the source has capitals there."""
    short_stay = any(word.islower() and len(word) <= _SHORT for word in PROSE_WORD.findall(source))
    characters = list(text)
    for number, word in enumerate(re.finditer(r"\S+", text)):
        place = next((i for i in range(*word.span()) if text[i].isalnum()), None)
        if place is not None and not (number and short_stay and len(word[0]) <= _SHORT):
            characters[place] = _same_length(text[place], text[place].title())  # Georgian has none
    return "".join(characters)


def _upper(text: str) -> str:
    return "".join("ẞ" if letter == "ß" else _same_length(letter, letter.upper()) for letter in text)


def _lower(text: str) -> str:
    lower = text.lower()  # as a whole, since a sigma at the end of a word is another letter
    return lower if len(lower) == len(text) else "".join(_same_length(letter, letter.lower()) for letter in text)


def _same_length(letter: str, other: str) -> str:
    return other if len(other) == 1 else letter
