"""Spaces and characters that nobody sees, as training had them: a plain space, or nothing.

Some of them carry meaning, and stay: a joiner inside a word of Arabic, Persian or an Indian script makes another word,
and emoji are held together by joiners. White space between sentences stays too: the model does not read it, and it
comes back between their translations.
"""

import re
import unicodedata
from collections.abc import Callable

from seq2seq.translation.text.rewriting import Edit
from seq2seq.translation.text.splitting import sentences

_KNOWN = 0.001  # of the lines of training; what is rarer, a model hardly knows
_UNSEEN = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_ODD_ROW = re.compile(rf"(?! [^\s{_UNSEEN}])[\s{_UNSEEN}]+")
_JOINERS = "\u200c\u200d"


def space_edits(text: str, share: Callable[[str], float]) -> list[Edit]:
    """What to change in `text`, so that its sentences have the spaces of training."""
    if not _ODD_ROW.search(text.strip(" ")):
        return []
    edits = []
    for sentence in sentences(text):
        end = sentence.start + len(sentence.text)
        for match in _ODD_ROW.finditer(text, sentence.start, end):
            new = _plain(text, match, share)
            if match.start() == sentence.start or match.end() == end:
                new = new.strip()
            if new != match[0]:
                edits.append(Edit(*match.span(), new))
    return edits


def _plain(text: str, row: re.Match[str], share: Callable[[str], float]) -> str:
    """What stands for a row of such characters."""
    known = [
        character
        for i, character in enumerate(row[0], start=row.start())
        if character != " " and (share(character) >= _KNOWN or (character in _JOINERS and _joins(text, i)))
    ]
    if known:
        return "".join(known)
    return " " if any(character.isspace() for character in row[0]) else ""


def _joins(text: str, place: int) -> bool:
    """Whether a joiner stands beside a letter, mark or picture that is not Latin."""
    around = text[max(0, place - 1) : place] + text[place + 1 : place + 2]
    return any(map(_is_joined, around))


def _is_joined(character: str) -> bool:
    is_latin = "\u0300" <= character <= "\u036f" or "LATIN" in unicodedata.name(character, "")
    return not is_latin and not character.isascii() and unicodedata.category(character)[0] in "LMS"
