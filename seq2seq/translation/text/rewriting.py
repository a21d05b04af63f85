"""What to change in a line so that it has the marks, spaces and letter forms of training.

- Spaces and characters that nobody sees: a plain space, or nothing. Some of them carry meaning, and stay: a joiner
  inside a word of Arabic, Persian or an Indian script makes another word, and emoji are held together by joiners.
  White space between sentences stays too: the model does not read it, and it comes back between their translations.
- Marks that end sentences: one that training had, of the same kind (it asks, it exclaims, it states) if there is one.
- Letters: composed accents, plain letters for ligatures, wide ones and those of Arabic fonts. Only forms of the same
  letters are changed. Signs with a meaning of their own, such as x², ½ or ™, stay.
- Marks that writers may leave out: vowel signs and the tatweel of Arabic, points of Hebrew, stress in Cyrillic. Marks
  that make another letter stay, and so do the vowels of Indian scripts and of Thai.
- Quotation marks and apostrophes: a mark is replaced only by a sibling that training had at least 20 times as often.
  Prime signs (5′10″) are no quotation marks and stay. A straight mark becomes a curly one only where that is certain:
  an apostrophe between letters, quotation marks that come in pairs. So those of code and of inches (5'10") stay.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, get_args

import regex

from seq2seq.characters import CHARACTER, LETTER_ROW, LETTERS, STOP, STOPS, composed, has_word, is_unspaced, stop_kind
from seq2seq.errors import ConfigError
from seq2seq.translation.text.origins import Edit
from seq2seq.translation.text.splitting import sentences

Kind = Literal["quotes", "spaces", "stops", "forms", "marks", "case", "pieces"]
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


Share = Callable[[str], float]  # of the lines of training that have a character

_KNOWN = 0.001  # of the lines of training; what is rarer, a model hardly knows
# Emoji have joiners and tags in them.
_UNSEEN = r"[[\p{Default_Ignorable_Code_Point}&&\p{Cf}]--\p{Emoji_Component}][\p{Cc}--\s]\u200d"
_ODD_ROW = regex.compile(rf"(?V1)(?! [^\s{_UNSEEN}])[\s{_UNSEEN}]+")
_JOINERS = "\u200c\u200d"
_JOINED = regex.compile(r"(?V1)[[\p{L}\p{M}\p{S}]--[\p{Latin}\p{Inherited}\p{ASCII}]]")


def space_edits(text: str, share: Share) -> list[Edit]:
    """What to change in `text`, so that its sentences have the spaces of training."""
    if not _ODD_ROW.search(text.strip(" ")):
        return []
    edits = []
    for sentence in sentences(text):
        for match in _ODD_ROW.finditer(text, sentence.start, sentence.end):
            new = _plain(text, match, share)
            if match.start() == sentence.start or match.end() == sentence.end:
                new = new.strip()
            if new != match[0]:
                edits.append(Edit(match.start(), match.end(), new))
    return edits


def _plain(text: str, row: regex.Match[str], share: Share) -> str:
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
    return _JOINED.search(text[max(0, place - 1) : place + 2]) is not None


_LAST_STOPS = regex.compile(rf"(?V1)(?<!{STOPS}){STOPS}++(?=[[^\w\s]--{STOPS}]*$)")
_USUAL = {".": ".。।۔።།။។։", "?": "?？؟፧", "!": "!！"}  # of each kind, best known first


def stop_edits(text: str, share: Share, src_lang: str) -> list[Edit]:
    """What to change in `text`, so that its sentences end with marks that training had.

    Only where a sentence ends: a mark inside one is no stop there. If training had no mark of that kind, it is one that
    states, and `with_stop_of` gives the translation the mark of the line.
    """
    if all(share(mark) for mark in set(STOP.findall(text))):
        return []
    edits = []
    for sentence in sentences(text):
        match = _LAST_STOPS.search(sentence.text)
        if match and has_word(sentence.text):
            start, end = sentence.start + match.start(), sentence.start + match.end()
            new = _known_stops(match[0], share, src_lang)
            if new != match[0]:
                before, after = text[start - 1 : start], text[end : end + 1]
                needs_space = after.isalnum() and not (is_unspaced(before) and is_unspaced(after))
                edits.append(Edit(start, end, new + " " * needs_space))
    return edits


def last_stop(text: str) -> int | None:
    """Where the last mark is of those that end a sentence, if it ends with some."""
    match = _LAST_STOPS.search(text)
    return match.end() - 1 if match else None


def with_stop_of(text: str, written: str, read: str) -> str:
    """A translation with the end mark that was written, if the model has read one of another kind for it."""
    place = last_stop(text)
    if place is None or not STOP.fullmatch(written) or stop_kind(written) == stop_kind(read):
        return text
    return text[:place] + written + text[place + 1 :]


def _known_stops(marks: str, share: Share, src_lang: str) -> str:
    """What training had for a row of marks; the row if it had nothing."""
    usual = _USUAL | ({"?": ";"} if src_lang.lower()[:2] == "el" else {})

    def known(mark: str, kind: str) -> str:
        if share(mark):
            return mark
        plain = unicodedata.normalize("NFKC", mark)
        if all(map(share, plain)):
            return plain if kind == "." else "".join(dict.fromkeys(plain))  # ‼ is one mark
        best = max(usual[kind], key=share)
        return best * bool(share(best))

    return "".join(known(mark, stop_kind(mark)) for mark in marks) or known(marks[0], ".") or marks


# Letters as fonts and narrow or wide columns have them.
_FORM = (
    r"[[\p{L}\p{M}&&[\p{dt=narrow}\p{dt=initial}\p{dt=medial}\p{dt=final}\p{dt=isolated}\p{dt=font}]]"
    r"--\p{Block=Letterlike_Symbols}]|[\p{dt=wide}--\s]|[\p{dt=compat}&&\p{Block=Alphabetic_Presentation_Forms}]"
)
# Python takes the square of the length of a row of marks.
_FORMS = regex.compile(rf"(?V1)(?P<forms>(?:(?:{_FORM})\p{{M}}{{0,32}}+)+)|{CHARACTER.pattern}")
_HAS_FORMS = regex.compile(f"(?V1){_FORM}")


def form_edits(text: str, share: Share) -> list[Edit]:
    """What to change in `text`, so that its letters have the form of training."""
    if unicodedata.is_normalized("NFKC", text) or (composed(text) == text and not _HAS_FORMS.search(text)):
        return []
    edits = []
    for match in _FORMS.finditer(text):
        old = match[0]
        new = unicodedata.normalize("NFKC", old) if match["forms"] else composed(old)
        lost = set(old) if match["forms"] else set(old[1:]) - set(new)
        if new != old and " " not in new and not any(share(character) >= _KNOWN for character in lost):
            edits.append(Edit(match.start(), match.end(), new))
    return edits


_OPTIONAL = regex.compile(
    r"(?V1)[[\p{M}&&[\p{Script_Extensions=Arabic}\p{Hebrew}]]--\p{NFC_Quick_Check=Maybe}]|\u0640"
    r"|(?<=\p{Cyrillic})[\u0300\u0301]"
)


def mark_edits(text: str, share: Share) -> list[Edit]:
    """What to leave out of `text`, so that its letters have no marks that training had not.

    A word with a letter that training had not is taken out, and comes back with its marks.
    """
    if not _OPTIONAL.search(text):
        return []
    edits = []
    for word in LETTER_ROW.finditer(text):
        marks = [match for match in _OPTIONAL.finditer(text, *word.span()) if share(match[0]) < _KNOWN]
        if marks and all(map(share, filter(str.isalpha, set(_OPTIONAL.sub("", word[0]))))):
            edits += [Edit(match.start(), match.end(), "") for match in marks]
    return edits


_MUCH_RARER = 20
_CURLY_SINGLE = re.compile("[’‘ʼ‛]")
_BETWEEN_LETTERS = regex.compile(rf"(?V1)(?<={LETTERS})'(?={LETTERS})")
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
