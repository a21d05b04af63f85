"""What of a line comes through a translation unchanged, and where it is.

Markup, URLs, placeholders, emoji and numbers have patterns. Each takes time in proportion to the length of the text,
whatever the text is: one that can go on for long ends at a character that it may also begin with, or is bounded.

What a model has never seen is kept, too: characters that the tokenizer has no piece for. A word with an unknown
letter is unknown as a whole: the model could only spell it, in bytes that it never learned to read. Unknown signs
beside it are pieces by themselves. Digits are never unknown, since a number belongs to its sentence, and neither is a
part of a tag or of a placeholder.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from seq2seq.characters import composed

Kind = Literal["markup", "urls", "placeholders", "emoji", "numbers"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_NAME = r"[A-Za-z][\w:.-]{0,63}"
_LINE_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # a translation is one line
_QUOTED = rf"\"[^\"<{_LINE_ENDS}]*\"|'[^'<{_LINE_ENDS}]*'"
_MARKUP = (
    rf"<(?P<slash>/?)(?P<name>{_NAME})(?:[^\S{_LINE_ENDS}/](?:{_QUOTED}|[^<>\"'{_LINE_ENDS}])*)?/?>"
    rf"|<[!?][^<>{_LINE_ENDS}]*>"
    r"|&(?:\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
)

_NO_URL = r"\s<>\"“”«»\u3000-\u303f\uff00-\uffef\U0001f000-\U0001faff"
_URL = (
    rf"(?<![\w@])(?:(?:https?|ftp)://|www\.)[^{_NO_URL}]+"
    r"|(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}"
)
_URL_CORE = re.compile(r"(?:\w+://|www\.)\w|[^@]+@\w")  # what is left without the punctuation at its end
_AFTER_URL = ".,;:!?…'’*_"  # ends a sentence, not a URL
_BRACKETS = {")": "(", "]": "[", "}": "{"}

_PLACEHOLDER = (
    rf"\{{\{{[^{{}}{_LINE_ENDS}]{{0,200}}\}}\}}"  # {{ name }}
    r"|\$?\{[^{}\s]{0,100}\}"  # {name}, {0:.2f}, ${name}
    r"|\$[A-Za-z_]\w{0,63}"
    r"|%%"
    r"|(?<!\d)%(?:\(\w{1,64}\))?(?:\d{1,3}\$)?[-+0\#]{0,4}\d{0,4}(?:\.\d{1,4})?[hlLqjzt]{0,2}[sdiufFeEgGxXocp@](?!\w)"
    r"|(?<!\w)__[A-Za-z0-9]{1,64}(?:_[A-Za-z0-9]{1,64}){0,16}__(?!\w)"
)

# Characters that are pictures by themselves, then those that are so with U+FE0F only.
_PICTURE = (
    r"[\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u25fd\u25fe\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    r"\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
)
_MADE_PICTURE = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2328\u23cf\u24c2\u25a0-\u25ff\u2900-\u297f\u2b00-\u2bff"
    r"\u3030\u303d\u3297\u3299]\ufe0f"
)
_SKIN = r"[\U0001f3fb-\U0001f3ff]"
_ELEMENT = (
    rf"(?:{_MADE_PICTURE}|{_PICTURE}[\ufe0e\ufe0f]?){_SKIN}?\u20e3?(?:[\U000e0020-\U000e007e]{{1,16}}\U000e007f)?"
)
_EMOJI = (
    r"[\U0001f1e6-\U0001f1ff]{2}"  # flags
    r"|[0-9\#*]\ufe0f?\u20e3"  # keycaps
    rf"|{_ELEMENT}(?:\u200d{_ELEMENT})*"
    r"|[\U0001f1e6-\U0001f1ff]"
)
_PATTERNS = {"markup": _MARKUP, "urls": _URL, "placeholders": _PLACEHOLDER, "emoji": _EMOJI}

_NO_BREAK = "\u00a0\u202f\u2009"
_NUMBER = re.compile(
    rf"(?<![\w.])(?:\d{{1,3}}(?:[ {_NO_BREAK}]\d{{3}})+(?!\d)|\d+)(?:[.,:/'’-]\d+)*"
    r"(?!\d|(?:er|re|e|ère|ème|eme|st|nd|rd|th|[oºª°])\b)"  # 3e is a word, and another one in English
)

# Elements without an end.
_VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
# Elements that may begin or end inside a word. All others stand between words.
_INLINE = re.compile("a|b|big|bdi|code|del|em|font|g|i|ins|kbd|mark|mrk|s|samp|small|span|strike|strong|sub|sup|tt|u")


class Thing(NamedTuple):
    """Something in a line that comes through unchanged.

    Attributes:
        start: characters before it in the line.
        partner: of a tag, the index of the one that closes or opens the same element; None if there is none.
        divides: whether it stands between two words if it has letters on both sides.
    """

    text: str
    start: int
    partner: int | None = None
    divides: bool = True

    @property
    def end(self) -> int:
        """Characters before its end in the line."""
        return self.start + len(self.text)


def things(text: str, kinds: Collection[str]) -> list[Thing]:
    """What `text` has of these kinds, in order, without overlaps. There are no numbers among them: see `numbers`."""
    chosen = [kind for kind in _PATTERNS if kind in kinds]
    if not chosen:
        return []
    pattern = re.compile("|".join(f"(?P<{kind}>{_PATTERNS[kind]})" for kind in chosen))
    found: list[Thing] = []
    open_tags: list[tuple[str, int]] = []  # name and index
    n_open: Counter[str] = Counter()
    for match in pattern.finditer(text):
        kind, whole = match.lastgroup, match[0]
        if kind == "urls":
            whole = _without_punctuation(whole)
            if not _URL_CORE.match(whole):
                continue
        if kind != "markup":
            found.append(Thing(whole, match.start()))
            continue
        if whole.startswith("&") and html.unescape(whole)[0].isalpha():
            continue  # a part of a word: caf&eacute;
        name = (match["name"] or "").lower()
        found.append(Thing(whole, match.start(), divides=not _INLINE.fullmatch(name)))
        if not name or _VOID.fullmatch(name) or whole.endswith("/>"):
            continue
        if not match["slash"]:
            open_tags.append((name, len(found) - 1))
            n_open[name] += 1
        elif n_open[name]:
            _close(name, open_tags, n_open, found)
    return found


def numbers(text: str) -> Iterator[tuple[int, int]]:
    """Where each number begins and ends: digits with the separators between them, but no part of a word such as MP3.

    Ordinals ("3e", "21st") are words that change, and so no numbers.
    """
    return (match.span() for match in _NUMBER.finditer(text))


def _close(name: str, open_tags: list[tuple[str, int]], n_open: Counter[str], found: list[Thing]) -> None:
    """Pair the last thing with the tag that opened it. Tags that were opened in between have no partner."""
    last, opened = len(found) - 1, ""
    while opened != name:
        opened, index = open_tags.pop()
        n_open[opened] -= 1
    found[index] = found[index]._replace(partner=last)
    found[last] = found[last]._replace(partner=index)


def _without_punctuation(url: str) -> str:
    """A URL without what follows it: the marks of the sentence, and brackets that it did not open."""
    n_of = Counter(character for character in url if character in "()[]{}")
    end = len(url)
    while end:
        last = url[end - 1]
        if last in _BRACKETS and n_of[last] > n_of[_BRACKETS[last]]:
            n_of[last] -= 1
        elif last not in _AFTER_URL:
            break
        end -= 1
    return url[:end]


# Letters, digits and the marks that belong to them, in scripts that have such; U+FFFD stands for what was one.
_LETTER = r"[\w\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u065f\u0900-\u0eff\u1000-\u109f\u1780-\u17ff\ufffd]"
_WORD = rf"{_LETTER}+(?:['’-]{_LETTER}+)*"
_WHOLE = ("markup", "placeholders")  # no sign is taken out of one
_STOPS = ".!?…"
_MARKS = re.compile(r"[,;:.!?…)\]]*")
_TOKEN = re.compile(rf"(?:{_WORD}|[^\w\s])")


def unknown_things(text: str, kinds: Collection[str], has_piece: Callable[[str], bool]) -> list[Thing]:
    """Things of these kinds, and whatever else of `text` is unknown, in order.

    Args:
        has_piece: whether the tokenizer can write a character other than as bytes.
    """
    found = things(text, kinds)
    # Composed, since the tokenizer composes letters and marks by itself.
    unknown = {character for character in set(composed(text)) if not (character.isdigit() or has_piece(character))}
    if not unknown:
        return found
    return merged(found, [Thing(text[a:b], a) for a, b in _unknown_spans(text, unknown, found)])


def is_foreign(thing: str) -> bool:
    """Whether something was to be read: it has a letter, and is no address."""
    return any(map(str.isalpha, thing)) and not things(thing, ("urls",))


def _unknown_spans(text: str, unknown: set[str], found: Sequence[Thing]) -> list[tuple[int, int]]:
    """Where unknown words and unknown signs are, outside the things that were found; signs that touch are one."""
    is_taken = bytearray(len(text))
    for thing in (*found, *things(text, _WHOLE)):
        is_taken[thing.start : thing.end] = b"\1" * (thing.end - thing.start)
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if unknown.isdisjoint(composed(match[0])) or any(is_taken[start:end]):
            continue
        if spans and spans[-1][1] == start and not (text[start - 1].isalnum() or text[start].isalnum()):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return _with_marks(text, spans)


def _with_marks(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, those at the beginning of a sentence with the marks after them: no text should begin with a comma."""
    widened: list[tuple[int, int]] = []
    begins, done = True, 0
    for start, end in spans:
        start = max(start, done)  # some of it may be such marks
        if start >= end:
            continue
        between = text[done:start].rstrip()
        begins = begins if not between.strip() else between[-1] in _STOPS
        if begins and text[end - 1].isalnum():
            marks = _MARKS.match(text, end)
            end = marks.end() if marks else end
        widened.append((start, end))
        done = end
    return widened


def merged(found: Sequence[Thing], others: Sequence[Thing]) -> list[Thing]:
    """All in order, with partners that still know each other."""
    merged = sorted([*found, *others], key=lambda thing: thing.start)
    index_of = {thing.start: i for i, thing in enumerate(merged)}
    return [
        thing if thing.partner is None else thing._replace(partner=index_of[found[thing.partner].start])
        for thing in merged
    ]
