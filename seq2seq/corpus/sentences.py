"""Where sentences end in a line, by rules for French, English and, less well, for other languages.

The rules need the text only, take time in proportion to its length, and say the same on every machine that has the same
version of Unicode. A sentence ends after a row of marks (. ? ! …) with what closes quotations and brackets, if white
space follows, and then a word that can begin a sentence. Most rules below are about the full stop, which also ends
abbreviations. Stops that do nothing else, as most scripts have them, need no white space after them. docs/text.md says
what is done with which script, and docs/translation.md how often the rules are right.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import regex

from seq2seq.characters import LONE_STOPS, STOPS, UNSPACED, composed
from seq2seq.corpus.abbreviations import (
    AFTER_TIMES,
    BEFORE_NUMBERS,
    GERMAN_MONTHS,
    IN_NAMES,
    NEED_MORE,
    NEVER_LAST,
    NOT_AFTER_ARTICLES,
    SOMETIMES_LAST,
    STARTERS,
    STATES,
    TITLES,
)

_BULLETS = "•⁃▪●◦‣"
# In Greek, a semicolon asks, and a raised dot is half a stop: it ends a sentence if a capital follows.
_GREEK_ENDS = r"[;\u037e·\u0387](?<=\p{Greek}\p{M}?[.!…]?.)"
_MARKS = regex.compile(rf"(?V1)[{STOPS}{_BULLETS}]+|{_GREEK_ENDS}")
_LONE_STOP = regex.compile(f"(?V1){LONE_STOPS}")
_NO_ELLIPSIS = re.compile(r"\.|[!?‼⁇⁈⁉]+")
_UNSPACED = regex.compile(f"(?V1){UNSPACED}")
_AROUND_A_POINT = regex.compile(r"\d\d|\p{Latin}\p{Latin}")  # of a number, or between initials
_BRACKETS = regex.compile(r"(?V1)(?:([\p{Ps}--[„‚]])|\p{Pe})(?<![:;=]-?.)")  # no emoticons
_PICTURE = r"[[\p{So}\p{Emoji_Modifier}\ufe0f\u200d]--[\p{Block=Latin_1_Supplement}\p{Block=Letterlike_Symbols}]]"
_CLOSERS = regex.compile(
    r"(?V1)(?:[\u00a0\u202f ]?[»›]"
    r"|[\"'”’*_\p{Pe}]"
    r"|\[\d{1,3}\]"  # the footnotes of Wikipedia
    rf"|\s?{_PICTURE}+"
    r"|\s?(?:[:;=]-?[()DP]|<3)(?!\w))*"
)
_QUOTE_APART = re.compile(r'\s"(?!\S)')  # opens or closes a quotation
_LONGEST_QUOTE = 500  # characters; to look further back would be quadratic
_LONGEST_IN_BRACKETS = 200
_SPACE = re.compile(r"\s+")
_OPENING = regex.compile(r"[\"'\p{Pi}\p{Ps}–—¿¡*_$€£#@\s-]{0,8}")
_OPENED = ("«", "« ", "«\u00a0", "«\u202f", "“", "„", '"', "(")  # what they open may begin with a small letter
_CAMEL_CASE = re.compile(r"[a-z]{1,3}[A-Z]")  # iPhone, eBay
_NEXT_WORD = regex.compile(r"\w{1,15}")
_WORD_BEFORE = re.compile(r"(?:^|[\s(\[«\"'’“‘–—/])-?([^\s(\[«\"'’“‘–—/]+)$")
_LONGEST_ABBREVIATION = 12  # characters; to look further back would be quadratic on a line without spaces
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}[.-]+)+[^\W\d_]{1,2}")  # U.S, Ph.D, p.m, J.-P, without the last stop
_ROMAN = re.compile(r"[IVXLC]+")
_I_AT_THE_END = re.compile(r"\s[a-zà-ÿ]+,? I$")  # taller than I
_SAID = re.compile(
    r"(?:[A-Z]\w{0,15} ){1,3}(?:said|asked|replied|answered|cried|shouted|yelled|whispered|added|exclaimed|thought)\b"
    r"|と|って"  # as Japanese says it, at once after the quotation
)
# A pattern that begins with a character is found three times as fast as one that begins with a look-behind.
# It is for French and English: `re` with their letters, composed or not, takes two thirds of the time of `regex`.
_CAPITAL_WITHIN = re.compile(
    r" (?<=[a-zà-ÿ\u0300-\u036f] )(An?|The|Two|Three|Four|Five|Six|Several|Some|Many|There|He|She|They|We|This|These"
    r"|Une?|Deux|Trois|Quatre|Cinq|Plusieurs|Quelques|Des|Les?|La|Ils?|Elles?|Cet|Cette|Ces?) (?=([a-zà-ÿ]{1,9}))"
)
_ITEM_SIGN = re.compile(rf"[\s({_BULLETS}]*(?:\d{{1,3}}|\w)")  # begins an item, without the stop after it
_ITEM = re.compile(r"(?<!\S)\(?(?:(\d{1,2})(?:\.\)|[.)])|([a-z])(?:\.\)|[.)])|([A-Z])\.?\))(?=\s)")


class _Next(NamedTuple):
    """What follows a possible end of a sentence."""

    opening: str  # quotation marks, brackets and dashes before the word
    word: str  # its first 15 letters or digits
    is_initial: bool  # a stop follows the word, which is one letter
    is_lower: bool  # no letter of the whole line is a capital


def sentence_ends(text: str) -> Iterator[int]:
    """Where a sentence ends before another one begins, ascending, each as the number of characters up to there."""
    n_visible, is_lower = len(text.rstrip()), text.islower()
    begin = 0  # of the sentence that the marks are in
    brackets, closed = deque(sorted(_bracketed(text))), 0
    unmarked = deque(sorted([*_item_starts(text), *_forgotten_stops(text)]))
    for match in _MARKS.finditer(text, 0, n_visible):
        while unmarked and unmarked[0] <= match.start():
            if text[begin : unmarked[0]].strip():  # else a mark ended the sentence before the item
                yield unmarked[0]
            begin = unmarked.popleft()
        end = _end(text, begin, match, n_visible, is_lower)
        while brackets and brackets[0][0] < match.start():
            closed = max(closed, brackets.popleft()[1])
        if end is not None and end > closed:
            yield end
            begin = end
    for place in unmarked:
        if text[begin:place].strip():
            yield place
        begin = place


def n_sentences(text: str) -> int:
    """The number of sentences; 0 for a blank text."""
    return sum(1 for _ in sentence_ends(text)) + 1 if text.strip() else 0


def _item_starts(text: str) -> Iterator[int]:
    """Where the items of a list begin, from the second one, if the line begins with the first one ("1. Milk 2. Bread").

    Each has the number or the letter after the one before.
    """
    item = _ITEM.match(text, len(text) - len(text.lstrip()))
    if item is None:
        return
    for each in _ITEM.finditer(text, item.end()):
        if each.lastindex == item.lastindex and _number(each) == _number(item) + 1:
            item = each
            yield item.start()


def _forgotten_stops(text: str) -> Iterator[int]:
    """Where a word that begins sentences has a capital for no other reason ("a dog runs Two men watch").

    One caption in twenty has no stop. This is wrong in 9 of 26,142 lines of news, and in 1 of 138,022 of Tatoeba.
    """
    for match in _CAPITAL_WITHIN.finditer(text):
        before = text[max(0, match.start() - _LONGEST_ABBREVIATION) : match.start()]
        is_letter = match[1] in ("A", "An") and match[2] in NOT_AFTER_ARTICLES  # hepatitis A is
        if not is_letter and before.rpartition(" ")[2].lower() not in NEED_MORE:
            yield match.start()


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    """Brackets and their ends, in which no sentence ends, unless so much stands in them that they hold a text."""
    opened: list[int] = []
    for match in _BRACKETS.finditer(text):
        if match[1]:
            opened.append(match.start())
        elif opened and match.start() - (start := opened.pop()) <= _LONGEST_IN_BRACKETS:
            yield start, match.start()


def _number(item: re.Match[str]) -> int:
    sign = item[item.lastindex or 0]
    return int(sign) if item.lastindex == 1 else ord(sign)


def _end(text: str, begin: int, match: regex.Match[str], n_visible: int, is_lower: bool) -> int | None:
    """Where a sentence ends at a row of marks, if one does."""
    marks = match[0]
    if marks[0] in _BULLETS:  # the one before ends
        place = match.start()
        return place if place and text[place - 1].isspace() and text[begin:place].strip() else None
    end = _end_of(_CLOSERS, text, match.end())
    if _QUOTE_APART.match(text, end) and _is_quoted(text, begin, end):
        end += 2
    elif text[match.end() : end] == '"' and not _SPACE.match(text, end) and not _is_quoted(text, begin, match.end()):
        end = match.end()  # it opens a quotation at once
    space = _SPACE.match(text, end)
    start = space.end() if space else end
    if start >= n_visible or not (space or _needs_no_space(text, match)):
        return None
    following = _next(text, start, is_lower)
    is_unspaced = following.word and _UNSPACED.search(marks)
    if not (is_unspaced or _can_begin(text, start, following, marks)):
        return None
    closers = text[match.end() : end]
    if closers.startswith((")", "]")) and text.startswith(("(", "["), match.start() - 1):
        return None  # (...) leaves something out
    if (
        marks == "."
        and closers in ("", ")")
        and _ITEM_SIGN.fullmatch(text, max(begin, match.start() - 9), match.start())
    ):
        return None  # 1. Milk
    if marks == "." and not closers and _is_abbreviation(text, match.start(), following):
        return None
    if closers and not following.opening and _SAID.match(text, start):
        return None  # "What?" Tom asked.
    return end


def _needs_no_space(text: str, match: regex.Match[str]) -> bool:
    """Whether marks end a sentence even if the next one follows at once."""
    if _LONE_STOP.search(match[0]):
        return True
    before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    if match[0] == "．":
        return not _AROUND_A_POINT.match(before + after)
    return bool(_NO_ELLIPSIS.fullmatch(match[0]) and _UNSPACED.match(before) and _UNSPACED.match(after))


def _is_quoted(text: str, begin: int, end: int) -> bool:
    return text.count('"', max(begin, end - _LONGEST_QUOTE), end) % 2 == 1


def _end_of(pattern: regex.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def _next(text: str, start: int, is_lower: bool) -> _Next:
    opening = text[start : _end_of(_OPENING, text, start)]
    start += len(opening)
    end = _end_of(_NEXT_WORD, text, start)
    word = composed(text[start:end])
    is_initial = len(word) == 1 and text.startswith(".", end)
    return _Next(opening, word, is_initial, is_lower)


def _can_begin(text: str, start: int, following: _Next, marks: str) -> bool:
    """Whether a sentence can begin with these characters."""
    first = following.word[:1]
    if first.islower() and first.title() != first:  # Georgian has no capitals inside a text
        is_after_ellipsis = "…" in marks or ".." in marks
        is_brand = _CAMEL_CASE.match(text, start + len(following.opening)) is not None
        is_opened = following.opening.endswith(_OPENED) and not text[start - 1 : start].strip()
        return is_brand or is_opened or (following.is_lower and not is_after_ellipsis and not following.opening)
    return bool(first) and first != "_"


def _is_abbreviation(text: str, dot: int, following: _Next) -> bool:
    """Whether the stop at `dot`, which a word follows, does not end a sentence."""
    before = composed(text[max(0, dot - _LONGEST_ABBREVIATION - 1) : dot])
    found = _WORD_BEFORE.search(before)
    if found is None:
        return False
    word, lower = found[1], found[1].lower()
    is_capital = word[0].isupper() or following.is_lower
    if (is_capital and lower in TITLES) or lower in NEVER_LAST:
        return True
    if _is_number(following) and lower in BEFORE_NUMBERS:
        return True
    if lower == "ex":
        return before.endswith(("p. ex", "par ex"))
    if lower == "etc":
        return following.opening.startswith(("(", "["))
    if word.isdigit():
        return following.word.lower() in GERMAN_MONTHS  # 3. Januar
    if lower in ("a.m", "p.m"):
        next_word = following.word.lower()
        return following.is_lower or next_word in AFTER_TIMES or next_word in TITLES
    if len(word) == 1 and word.isalpha() and is_capital:
        is_pronoun = _I_AT_THE_END.search(before) and not following.is_initial
        return not is_pronoun and not _is_starter(following, IN_NAMES)
    if _ACRONYM.fullmatch(word) or lower in SOMETIMES_LAST or (is_capital and lower in STATES):
        return not _is_starter(following)
    return False


def _is_number(following: _Next) -> bool:
    """Whether digits follow, or a Roman number (chap. IV), or an initial (art. L. 121). I alone is a word."""
    is_roman = _ROMAN.fullmatch(following.word) is not None and following.word != "I"
    return following.word[:1].isdigit() or is_roman or following.is_initial


def _is_starter(following: _Next, but_not: frozenset[str] = frozenset()) -> bool:
    """Whether a word is likely to begin a sentence, even after an abbreviation."""
    word = following.word
    if following.is_lower or following.is_initial or following.opening.startswith(("(", "[")):
        return False
    is_headline = len(word) > 1 and word.isupper()
    return not is_headline and word.lower() in STARTERS - but_not
