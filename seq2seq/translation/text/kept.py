"""What of a line comes through a translation unchanged, and where it is.

Markup, addresses, placeholders, code and emoji have patterns. Each takes time in proportion to the length of the text,
whatever the text is: one that can go on for long ends at a character that it may also begin with, or is bounded. They
end where a word of another kind of script touches them: in `看见https://a.org/b每天` the address ends at b. So only
letters of scripts with capitals belong to one. In addresses, letters of others do after a sign, but none of Chinese or
of another script without spaces: nobody knows where the address ends and the sentence goes on.

What a model has never seen is kept, too: characters that the tokenizer has no piece for. A word with an unknown
letter is unknown as a whole: the model could only spell it, in bytes that it never learned to read. Where there are no
spaces, it is the character with its marks. Unknown signs are pieces by themselves. Digits are never unknown, since a
number belongs to its sentence, and neither is a part of a tag or of a placeholder.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import regex

from seq2seq.characters import STOP, UNSPACED, WORD_OR_SIGN, composed
from seq2seq.translation.text.origins import Edit

KINDS = ("markup", "urls", "placeholders", "code", "emoji", "numbers")

_CASED = r"[\p{LC}\d_]"  # letters of scripts that have capitals
_NAME = r"[A-Za-z][\w:.-]{0,63}|\d{1,3}"  # translators see <a href="b"> as <0>
_LINE_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # a translation is one line
_QUOTED = rf"\"[^\"<{_LINE_ENDS}]*\"|'[^'<{_LINE_ENDS}]*'"
_ENTITY = r"&(?:\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_MARKUP = (
    rf"</?(?:{_NAME})(?:[^\S{_LINE_ENDS}/](?:{_QUOTED}|[^<>\"'{_LINE_ENDS}])*)?/?>"
    rf"|<!\[CDATA\[|\]\]>|<[!?%][^<>{_LINE_ENDS}]*>|{_ENTITY}"
)

_CALM = r"[\p{L}--\p{LC}]"  # a letter of a script without capitals
_IN_URL = rf"\s<>\"“”«»\p{{East_Asian_Width=F}}\p{{Extended_Pictographic}}{UNSPACED}"
_LOCAL, _HOST = r"[\p{LC}\d_.+%-]", r"[\p{LC}\d_-]{1,63}"
_URL = (
    rf"(?<!{_CASED}|@)(?:(?:https?|ftp)://|www\.)(?:[^{_IN_URL}{_CALM}]|(?<!{_CASED})[{_CALM}--{UNSPACED}])+"
    rf"|(?<!{_LOCAL}){_LOCAL}{{1,64}}@{_HOST}(?:\.{_HOST}){{1,9}}"
    rf"|(?<!{_CASED})[A-Za-z]:\\[^|?*{_IN_URL}]+"
)
_URL_SIGNS = ("://", "www.", "@", ":\\")  # each URL has one; to look for them is much faster than to look for a URL
# What is left without the punctuation at its end.
_URL_CORE = regex.compile(r"(?:\w+://|www\.)\w|[^@]+@\w|\w:\\\w")
_AFTER_URL = regex.compile(r"[\p{Terminal_Punctuation}…'’*_]")  # ends a sentence, not a URL
_BRACKETS = {")": "(", "]": "[", "}": "{"}

_PLACEHOLDER = (
    rf"\{{{{2,3}}[^{{}}{_LINE_ENDS}]{{0,200}}\}}{{2,3}}"  # {{ name }}
    r"|[$%]?\{[^{}\s]{0,100}\}"  # {name}, {0:N2}, ${name}, %{name}
    r"|\{\s?[\w.]{1,64}\s?,\s?(?:number|date|time|spellout|ordinal|duration)\b[^{}]{0,60}\}"
    r"|\$[A-Za-z_][A-Za-z0-9_]{0,63}"
    r"|%%"
    r"|(?<!\d)%(?:\(\w{1,64}\)|<\w{1,64}>)?(?:\d{1,3}\$)?[-+0\#]{0,4}\d{0,4}(?:\.\d{1,4})?[hlLqjzt]{0,2}[sdiufFeEgGxXocpn@]"
    rf"(?!{_CASED})"
    rf"|(?<!\d)%L?[1-9]\d?(?!{_CASED})"  # of Qt
    rf"|(?<![^\s(\[«“\"']):[a-z]{{1,32}}(?:_[a-z0-9]{{1,32}}){{1,8}}(?![\w:])"  # of Laravel; :name may be prose
    rf"|(?<!{_CASED})__[A-Za-z0-9]{{1,64}}(?:_[A-Za-z0-9]{{1,64}}){{0,16}}__(?!{_CASED})"
)

# What only programs write. A backslash may also begin a command of TeX.
_BREAKS = (r"\n", r"\t", r"\r")
_CODE = (
    rf"{_ENTITY}"
    rf"|(?!\\[a-z]{{1,20}}[*{{\[])(?:\\[ntr]|\\[\\\"'/]|\\u[0-9A-Fa-f]{{4}})"
    r"|\$t\([^()]{1,200}\)"
    rf"|(?<!{_CASED})@(?:\.[a-z]{{1,16}})?:(?:\([A-Za-z0-9_.-]{{1,64}}\)"
    r"|[A-Za-z_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_-]{1,63}){0,9})"
)
_LETTER_CODE = regex.compile(rf"{_ENTITY}|\\u([0-9A-Fa-f]{{4}})")
_APOSTROPHES = ("'", "’")

# Pictures by themselves, or with U+FE0F.
_PICTURE = (
    r"(?:[\p{Emoji}--[\d\#*]]\ufe0f"
    r"|[[\p{Emoji_Presentation}\u2600-\u27bf\U0001f000-\U0001faff]--\p{Regional_Indicator}]\ufe0e?)"
)
_ELEMENT = rf"{_PICTURE}\p{{Emoji_Modifier}}?\u20e3?(?:[\U000e0020-\U000e007e]{{1,16}}\U000e007f)?"
_EMOJI = (
    r"\p{Regional_Indicator}{1,2}"  # flags
    r"|[0-9\#*]\ufe0f?\u20e3"  # keycaps
    rf"|{_ELEMENT}(?:\u200d{_ELEMENT})*"
    rf"|(?<!{_CASED}|:):(?:[a-z][a-z0-9_+-]{{1,40}}|[+-]1|100):(?!{_CASED}|:)"
)
_PATTERNS = {
    kind: regex.compile(f"(?V1){pattern}")
    for kind, pattern in {
        "markup": _MARKUP, "urls": _URL, "placeholders": _PLACEHOLDER, "code": _CODE, "emoji": _EMOJI
    }.items()
}  # fmt: skip

_NO_BREAK = "\u00a0\u202f\u2009"
_NUMBER = regex.compile(
    rf"(?V1)(?<!{_CASED}|\.)(?:\d{{1,3}}(?:[ {_NO_BREAK}]\d{{3}})+(?!\d)|\d+)(?:[.,:/'’٫٬-]\d+)*"
    r"(?!\d|(?:er|re|e|ère|ème|eme|st|nd|rd|th|[oºª°])\b)"  # 3e is a word, and another one in English
)

# An ICU message: {count, plural, one {Le chat dort.} other {Les chats dorment.}}
_OF_MESSAGES = ("plural", "selectordinal", "select")
_MESSAGE = regex.compile(rf"\{{\s*[\w.-]{{1,64}}\s*,\s*({'|'.join(_OF_MESSAGES)})\s*,")
_BRACE = re.compile(r"'[{}]'|[{}#]")

_TAG = re.compile(r"<(/?)([\w:.-]+)")
# Elements without an end.
_VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
# Elements that may begin or end inside a word. All others stand between words.
_INLINE = re.compile(
    r"\d+|(?:xliff:)?g|ph|x|a|b|big|bdi|code|del|em|font|i|ins|kbd|mark|mrk|s|samp|small|span|strike|strong|sub|sup|tt|u"
)

_ON_IT = regex.compile(r"\p{M}*+")  # what is written on a character goes with it
_WHOLE = ("markup", "placeholders", "code")  # no sign is taken out of one
_MARKS = regex.compile(r"[\p{Terminal_Punctuation}…\p{Pe}]*+")


class Thing(NamedTuple):
    """Something in a line that comes through unchanged.

    Attributes:
        start: characters before it in the line.
        partner: of a tag, the index of the one that closes or opens the same element; None if there is none.
        divides: whether it stands between two words if it has letters on both sides.
        is_break: whether it stands between two texts.
        is_unknown: whether it was to be read, but training had no such letters or signs.
    """

    text: str
    start: int
    partner: int | None = None
    divides: bool = True
    is_break: bool = False
    is_unknown: bool = False

    @property
    def end(self) -> int:
        """Characters before its end in the line."""
        return self.start + len(self.text)


def things(text: str, kinds: Collection[str], patterns: Sequence[str] = ()) -> list[Thing]:
    """What `text` has of these kinds, in order, without overlaps. There are no numbers among them: see `numbers`.

    Args:
        patterns: what else to find, as regular expressions.
    """
    return _paired(_found(text, kinds, patterns))


def unknown_things(
    text: str, kinds: Collection[str], patterns: Sequence[str], has_piece: Callable[[str], bool]
) -> list[Thing]:
    """Things of these kinds, and whatever else of `text` is unknown, in order.

    Args:
        has_piece: whether the tokenizer can write a character other than as bytes.
    """
    found = _found(text, kinds, patterns)
    # Composed, since the tokenizer composes letters and marks by itself.
    unknown = {character for character in set(composed(text)) if not (character.isdigit() or has_piece(character))}
    return merged(found, _unknown(text, unknown, [*found, *_found(text, _WHOLE)]) if unknown else [])


def merged(found: Sequence[Thing], others: Sequence[Thing]) -> list[Thing]:
    """All in order, with partners that know each other."""
    return _paired(sorted([*found, *others], key=lambda thing: thing.start))


def numbers(text: str) -> Iterator[tuple[int, int]]:
    """Where each number begins and ends: digits with the separators between them, but no part of a word such as MP3.

    Ordinals ("3e", "21st") are words that change, and so no numbers.
    """
    return (match.span() for match in _NUMBER.finditer(text))


def letter_edits(text: str) -> list[Edit]:
    """What to change in `text`, so that letters and apostrophes are not written as code: `C&apos;&eacute;tait`."""
    found = ((match, _decoded(match[0])) for match in _LETTER_CODE.finditer(text))
    return [Edit(match.start(), match.end(), letter) for match, letter in found if letter]


def _found(text: str, kinds: Collection[str], patterns: Sequence[str] = ()) -> list[Thing]:
    """Things that do not know their partners yet. Of those that overlap, the first one counts, then the longest."""
    found = _messages(text) if "code" in kinds else []
    for kind, pattern in _PATTERNS.items():
        may_be = kind in kinds and (kind != "urls" or any(sign in text for sign in _URL_SIGNS))
        for match in pattern.finditer(text) if may_be else ():
            whole = _without_punctuation(match[0]) if kind == "urls" else match[0]
            if not (_decoded(whole) or (kind == "urls" and not _URL_CORE.match(whole))):
                found.append(Thing(whole, match.start(), is_break=kind == "code" and whole in _BREAKS))
    for own in patterns:
        for match in regex.finditer(own, text):
            if whole := match[0].strip():
                found.append(Thing(whole, text.index(whole, match.start())))
    apart: list[Thing] = []
    for thing in sorted(found, key=lambda each: (each.start, -len(each.text))):
        if not apart or apart[-1].end <= thing.start:
            apart.append(thing._replace(text=thing.text + _ON_IT.match(text, thing.end)[0]))
    return _without_lone_marks(text, apart)


def _without_lone_marks(text: str, found: Sequence[Thing]) -> list[Thing]:
    """The things, with the marks that would be a text of their own: the stop in `{n, plural, ...}.` is none."""
    joined: list[Thing] = []
    if found and found[0].is_break and not any(map(str.isalnum, text[: found[0].start])):
        before = text[: found[0].start].lstrip()
        found = [found[0]._replace(text=before + found[0].text, start=found[0].start - len(before)), *found[1:]]
    for thing, following in zip_longest(found, found[1:]):
        marks = text[thing.end : following.start if following else len(text)].rstrip()
        is_alone = (thing.is_break or (following and following.is_break)) and not any(map(str.isalnum, marks))
        joined.append(thing._replace(text=thing.text + marks) if is_alone else thing)
    return joined


def _messages(text: str) -> list[Thing]:
    """What stands around the texts of ICU messages, and each # in them that stands for a number."""
    heads = {match.start(): match[1] for match in _MESSAGE.finditer(text)}
    found: list[Thing] = []
    around: list[str] = []  # what is open: messages by their kind, their texts, and other braces
    begin = n_open = n_whole = 0
    for match in _BRACE.finditer(text) if heads else ():
        sign, place, inner = match[0], match.start(), around[-1] if around else ""
        if sign == "#" and inner == "text" and around[-2] != "select":
            found.append(Thing(sign, place))
        elif sign == "{" and inner in _OF_MESSAGES:
            found.append(Thing(text[begin : place + 1], begin, is_break=True))
            around.append("text")
        elif sign == "{":
            around.append(heads.get(place, sign))
            n_open += place in heads
            begin = place
        elif sign == "}" and around:
            around.pop()
            if inner in _OF_MESSAGES:
                found.append(Thing(text[begin : place + 1], begin, is_break=True))
                n_open -= 1
                n_whole = n_whole if n_open else len(found)
            begin = place
    return found[:n_whole]  # what is not closed is no message


def _paired(found: Sequence[Thing]) -> list[Thing]:
    """The things, of which tags know the tags that close or open the same element."""
    paired = list(found)
    open_tags: list[tuple[str, int]] = []  # name and index
    n_open: Counter[str] = Counter()
    for i, thing in enumerate(found):
        if (tag := _TAG.match(thing.text)) is None:
            continue
        name = tag[2].lower()
        paired[i] = thing._replace(divides=not _INLINE.fullmatch(name))
        if not tag[1] and not (_VOID.fullmatch(name) or thing.text.endswith("/>")):
            open_tags.append((name, i))
            n_open[name] += 1
        elif tag[1] and n_open[name]:
            opened = ""
            while opened != name:  # tags that were opened in between have no partner
                opened, index = open_tags.pop()
                n_open[opened] -= 1
            paired[index] = paired[index]._replace(partner=i)
            paired[i] = paired[i]._replace(partner=index)
    return paired


def _decoded(code: str) -> str:
    """The letter or apostrophe that a code stands for; empty if it is another one, which means something as it is."""
    if (match := _LETTER_CODE.fullmatch(code)) is None:
        return ""
    letter = chr(int(match[1], 16)) if match[1] else html.unescape(code)
    return letter if (letter[:1].isalpha() or letter in _APOSTROPHES) and not letter.endswith(";") else ""


def _without_punctuation(url: str) -> str:
    """A URL without what follows it: the marks of the sentence, and brackets that it did not open."""
    n_of = Counter(character for character in url if character in "()[]{}")
    end = len(url)
    while end:
        last = url[end - 1]
        if last in _BRACKETS and n_of[last] > n_of[_BRACKETS[last]]:
            n_of[last] -= 1
        elif not _AFTER_URL.match(last):
            break
        end -= 1
    return url[:end]


def _unknown(text: str, unknown: set[str], found: Sequence[Thing]) -> list[Thing]:
    """Unknown words and signs outside the things that were found. Those that touch are one.

    At the beginning of a sentence, the marks after a word go with it: no text should begin with a comma.
    """
    is_taken = bytearray(len(text))
    for thing in found:
        is_taken[thing.start : thing.end] = b"\1" * len(thing.text)
    spans: list[tuple[int, int]] = []
    begins, done = True, 0
    for match in WORD_OR_SIGN.finditer(text):
        start, end = match.span()
        if start < done:
            continue
        if unknown.isdisjoint(composed(match[0])) or any(is_taken[start:end]):
            begins = STOP.match(match[0]) is not None
            continue
        if begins and match[1]:
            after = _MARKS.match(text, end).end()
            taken = is_taken.find(1, end, after)
            end = after if taken < 0 else taken
        if spans and spans[-1][1] == start:
            start = spans.pop()[0]
        spans.append((start, end))
        done = end
    return [Thing(text[start:end], start, is_unknown=True) for start, end in spans]
