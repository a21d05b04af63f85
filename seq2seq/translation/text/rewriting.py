"""What to change in a line so that it has the marks, spaces and letter forms of training.

- Quotation marks and apostrophes: a mark is replaced only by a sibling that training had at least 20 times as often.
  Prime signs (5′10″) are no quotation marks and stay. A straight mark becomes a curly one only where that is certain:
  an apostrophe between letters, quotation marks that come in pairs. So those of code and of inches (5'10") stay.
- Spaces and characters that nobody sees: a plain space, or nothing. Some of them carry meaning, and stay: a joiner
  inside a word of Arabic, Persian or an Indian script makes another word, and emoji are held together by joiners.
  White space between sentences stays too: the model does not read it, and it comes back between their translations.
- Letters: composed accents, plain Latin letters for ligatures and wide ones. Only forms of the same letters are
  changed. Signs with a meaning of their own, such as x², ½ or ™, stay.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, get_args

from seq2seq.errors import ConfigError
from seq2seq.translation.text.origins import Edit
from seq2seq.translation.text.splitting import sentences

Kind = Literal["quotes", "spaces", "forms", "case", "pieces"]
KINDS: tuple[Kind, ...] = get_args(Kind)
AUTO, NEVER, ALWAYS = "auto", "never", "always"


def kinds_of(normalize: str) -> tuple[Kind, ...]:
    """The kinds that an option names: `auto`, `never`, `always`, or kinds with commas between them.

    Raises:
        ConfigError: it names something else.
    """
    if normalize == NEVER:
        return ()
    if normalize in (AUTO, ALWAYS):
        return KINDS
    names = normalize.split(",")
    if unknown := [name for name in names if name not in KINDS]:
        raise ConfigError(
            f"normalize={unknown[0]!r} is not one of {AUTO}, {NEVER}, {ALWAYS}, nor of the kinds {', '.join(KINDS)}"
        )
    return tuple(kind for kind in KINDS if kind in names)


class Change(NamedTuple):
    """What was written in another way before it was translated."""

    kind: str  # one of `KINDS`
    before: str
    after: str


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


_ACCENT = "[\u0300-\u036f\u0653-\u0655\u3099\u309a]"
_CLUSTER = re.compile(rf"[^\W_]{_ACCENT}+|[\u1100-\u11ff]+|[\u212a\u212b\u2126]")
_COMPATIBLE = re.compile(f"(?:[\ufb00-\ufb06\uff01-\uff5e\U0001d400-\U0001d7ff]{_ACCENT}*)+")


def form_edits(text: str, share: Callable[[str], float]) -> list[Edit]:
    """What to change in `text`, so that its letters have the form of training."""
    if text.isascii():
        return []
    return sorted([*_composed(text, share), *_compatible(text, share)])


def _composed(text: str, share: Callable[[str], float]) -> Iterator[Edit]:
    for match in _CLUSTER.finditer(text):
        composed = unicodedata.normalize("NFC", match[0])
        if composed != match[0] and not any(share(mark) >= _KNOWN for mark in match[0][1:] if not mark.isalnum()):
            yield Edit(*match.span(), composed)


def _compatible(text: str, share: Callable[[str], float]) -> Iterator[Edit]:
    for match in _COMPATIBLE.finditer(text):
        if not any(share(character) >= _KNOWN for character in match[0] if not character.isalnum()):
            yield Edit(*match.span(), unicodedata.normalize("NFKC", match[0]))


Share = Callable[[str], float]  # of the lines of training that have a character

_MUCH_RARER = 20
_CURLY_SINGLE = re.compile("[’‘ʼ‛]")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_CODE = re.compile(r"[=(){}<>\[\]\\/_;`]|'.*'")  # a word with any of these is no word
_WORD = re.compile(r"\S+")
_STYLES = {"straight": '"', "curly": "“", "guillemets": "«"}  # each by the mark that opens
# At most three spaces: a pattern that begins with any number of them is quadratic on a megabyte of spaces.
_MARK = {
    "straight": re.compile('"'),
    "curly": re.compile("[“”„‟]"),
    "guillemets": re.compile(r"«[\s\u2060\ufeff]{0,3}|[^\S\n]{0,3}»"),
}
_OPENS = re.compile(r"(?<!\w\()(?<![^\s(\[’‘ʼ‛'])(?=.\S)|(?=«)")  # print("a") is code
_CLOSES = re.compile(r"(?<=\S).(?!\w)|(?=\s{0,3}»)")


def quote_edits(text: str, share: Share, src_lang: str) -> list[Edit]:
    """What to change in `text`, so that it has the marks of training."""
    return sorted([*_apostrophes(text, share), *_quotation_marks(text, share, src_lang)])


def _apostrophes(text: str, share: Share) -> Iterator[Edit]:
    for match in _CURLY_SINGLE.finditer(text):
        if _is_much_rarer(share(match[0]), share("'")):
            yield Edit(match.start(), match.end(), "'")
    if not _is_much_rarer(share("'"), share("’")):
        return
    for word in _WORD.finditer(text):
        if not _CODE.search(word[0]):
            for match in _BETWEEN_LETTERS.finditer(text, word.start(), word.end()):
                yield Edit(match.start(), match.end(), "’")


def _quotation_marks(text: str, share: Share, src_lang: str) -> Iterator[Edit]:
    usual = max(_STYLES, key=lambda style: share(_STYLES[style]))
    for style, first in _STYLES.items():
        marks = list(_MARK[style].finditer(text))
        if not marks or style == usual or not _is_much_rarer(share(first), share(_STYLES[usual])):
            continue
        if usual == "straight" and style == "curly":
            yield from (Edit(*mark.span(), '"') for mark in marks)
        elif _pair_up(text, marks):
            opening, closing = _written(usual, src_lang)
            yield from (Edit(*mark.span(), closing if i % 2 else opening) for i, mark in enumerate(marks))


def _is_much_rarer(share: float, of_sibling: float) -> bool:
    return of_sibling > 0 and share * _MUCH_RARER <= of_sibling


def _pair_up(text: str, marks: list[re.Match[str]]) -> bool:
    """Whether the marks open and close by turns."""
    opens = all(_OPENS.match(text, mark.start()) for mark in marks[::2])
    closes = all(_CLOSES.match(text, mark.start()) for mark in marks[1::2])
    return len(marks) % 2 == 0 and opens and closes


def _written(style: str, src_lang: str) -> tuple[str, str]:
    """What opens and closes a quotation."""
    if style == "guillemets":
        return ("« ", " »") if src_lang.lower().startswith("fr") else ("«", "»")
    return ("“", "”") if style == "curly" else ('"', '"')
