"""Subtitles, SubRip (.srt) and WebVTT (.vtt): only the text of each one is translated.

All else comes out as it was: numbers, names, timing lines with their settings, the header, the blocks NOTE, STYLE and
REGION, and blank lines.

The lines of a subtitle are one text, except that a line that begins with a dash (a new speaker), a note (a song) or a
voice tag begins another. Tags, dashes and notes at the edges of a text stay around it. Tags inside a text are left
out, with all others of their name in the subtitle, since nobody knows which words they belong to.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NoReturn

from seq2seq.errors import TranslationError
from seq2seq.translation.forms.piece import Line, Piece, balance, columns, has_words, numbered, unwrap
from seq2seq.translation.text.health import Finding

_TAG = r"</?[a-zA-Z][^<>]*>|<\d[\d:.]*>|</?>|\{\\[^{}]*\}"  # <i>, </i>, <v Anne>, <00:00:01.000>, {\an8}
_IS_TAG = re.compile(_TAG)
_DIRECTION = r"\u200e\u200f\u202a-\u202e\u2066-\u2069"  # of Arabic and Hebrew; these marks are not seen
_UNSEEN = re.compile(rf"{_TAG}|[{_DIRECTION}]")
_TOKEN = re.compile(rf"({_TAG}|[\s♪♫{_DIRECTION}]+)")
_LINE_BREAK = re.compile(r"<br ?/?>")
_CLOSED_AND_OPENED_AGAIN = re.compile(r"</(\w+)>(\s*)<\1>")  # each line in its own italics
_NAME = re.compile(r"</?([a-zA-Z]*)")
_DASH = re.compile(r"[-–—－]+(?!\d)")  # no negative number
_NOTES = ("♪", "♫")


@dataclass
class _Text:
    """One text of a subtitle. `tokens` are its tags, white space and words, in order."""

    tokens: list[str]
    begin: int  # tokens before this one are in front of the words
    end: int  # tokens from this one on are behind the words
    n_lines: int  # of the file
    width: int  # columns of its longest line, without tags
    dropped: set[int] = field(default_factory=set)  # tokens that are left out

    @property
    def words(self) -> str:
        return "".join(self.tokens[i] for i in range(self.begin, self.end) if i not in self.dropped)

    def around(self, text: str) -> str:
        """`text` with what stands before and behind the words."""
        kept = ["" if i in self.dropped else token for i, token in enumerate(self.tokens)]
        return "".join((*kept[: self.begin], text, *kept[self.end :]))


def cue_piece(lines: Sequence[Line], has_entities: bool) -> Piece:
    """The lines of a subtitle below its timing, as a piece with no, one or several texts.

    Args:
        lines: at least one; none is empty.
        has_entities: whether `&lt;` means <, as in WebVTT.
    """
    texts = list(chain.from_iterable(map(_read, _grouped(lines))))
    translated = [text for text in texts if isinstance(text, _Text)]
    dropped = _drop_inner_tags(translated)
    source = "".join(line.source for line in lines)

    def render(translations: Sequence[str]) -> str:
        each = iter(translations)
        rendered: list[str] = []
        for text in texts:
            if isinstance(text, Line):
                rendered.append(text.text)
            else:
                rendered += _rendered(text, next(each), has_entities)
        return lines[0].end.join(rendered) + lines[-1].end if rendered else ""

    words = [_unescaped(text.words) if has_entities else text.words for text in translated]
    message = f"The tags {' '.join(dropped)} are left out, since they stand inside a text."
    return Piece(source, lines[0].number, words, render, (Finding("tags", message),) if dropped else ())


def _grouped(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each text. A line without words is alone."""
    groups: list[list[Line]] = []
    is_open = False
    for line in lines:
        bare = _bare(line)
        is_song = bare.startswith(_NOTES)
        begins = is_song or _DASH.match(bare) or line.text.lstrip().startswith(("<v ", "<v."))
        if is_open and not begins and has_words(bare):
            groups[-1].append(line)
        else:
            groups.append([line])
        is_open = has_words(bare) and not bare.endswith(_NOTES)
    return groups


def _bare(line: Line) -> str:
    return _UNSEEN.sub("", line.text).strip()


def _read(lines: Sequence[Line]) -> Sequence[_Text | Line]:
    """One text of these lines; they themselves if they have no words."""
    texts = [line.text for line in lines]
    if len(texts) > 1:
        texts = [unwrap([text.strip() for text in texts])]
    joined = _CLOSED_AND_OPENED_AGAIN.sub(r"\2", _LINE_BREAK.sub(" ", texts[0]))
    if not has_words(_IS_TAG.sub("", joined)):  # a tag may begin on one line and end on the next
        return lines
    tokens = [token for token in _TOKEN.split(joined) if token]
    begin = 0
    may_be_dash = True
    while _is_around(tokens[begin]) or (may_be_dash and _DASH.match(tokens[begin])):
        dash = None if _is_around(tokens[begin]) else _DASH.match(tokens[begin])
        if dash is not None:
            may_be_dash = False
            if rest := tokens[begin][dash.end() :]:
                tokens[begin : begin + 1] = [dash[0], rest]
        begin += 1
    end = len(tokens)
    while _is_around(tokens[end - 1]):
        end -= 1
    return [_Text(tokens, begin, end, len(lines), max(columns(_bare(line)) for line in lines))]


def _is_around(token: str) -> bool:
    return _TOKEN.fullmatch(token) is not None


def _drop_inner_tags(texts: Sequence[_Text]) -> list[str]:
    """Leave out the tags inside a text, and all of the same name in the subtitle. Returns these tags, in order."""
    inner = {_name(token) for text in texts for token in text.tokens[text.begin : text.end] if _IS_TAG.fullmatch(token)}
    dropped = []
    for text in texts:
        for i, token in enumerate(text.tokens):
            if _IS_TAG.fullmatch(token) and _name(token) in inner:
                text.dropped.add(i)
                dropped.append(token)
    return dropped


def _name(tag: str) -> str:
    match = _NAME.match(tag)
    return match[1] if match else tag


def _rendered(text: _Text, translation: str, has_entities: bool) -> list[str]:
    """The lines of a translation; none if it is blank, since a blank line would end the subtitle."""
    lines = balance(translation.strip(), text.n_lines, text.width)
    if not lines[0]:
        return []
    if has_entities:
        lines = [html.escape(line, quote=False) for line in lines]
    # No tag has a line end inside.
    return text.around("\n".join(lines)).split("\n")


def _unescaped(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", html.unescape(text)).strip()


_TIME = r"(?:\d+:)?\d{1,2}:\d{1,2}[,.]\d{1,3}"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?!\d)")
_HEADER = re.compile(r"WEBVTT(?=\s|$)")
_BLOCK = re.compile(r"NOTE(?=[ \t]|$)|(?:STYLE|REGION)\s*$")
_MOST_LINES = 100  # of one subtitle: a longer one has lost the blank line at its end
_SHOWN = 60  # characters of a line in a message


def read_subtitles(lines: Iterable[str], name: str, *, is_vtt: bool) -> Iterator[Piece]:
    """The texts of subtitles, and what stands between them, as pieces.

    Args:
        lines: with their line ends.
        name: of the file, for messages.
        is_vtt: whether they are WebVTT, and not SubRip.
    Raises:
        TranslationError: the lines are not subtitles; the message names the first line that is wrong.
    """
    block: list[Line] = []
    is_text = False
    for line in numbered(lines):
        if line.text.strip():
            block.append(line)
            if len(block) > _MOST_LINES:
                _refuse(name, line, f"a subtitle has more than {_MOST_LINES} lines; put blank lines between them")
            continue
        yield from _read_block(block, name, is_vtt=is_vtt, is_text=is_text)
        yield line.untouched()
        block, is_text = [], bool(line.text)
    yield from _read_block(block, name, is_vtt=is_vtt, is_text=is_text)


def _read_block(block: Sequence[Line], name: str, *, is_vtt: bool, is_text: bool) -> Iterator[Piece]:
    """What stands between two blank lines: a number or name, a timing and a text; or what has no text.

    Args:
        is_text: whether it belongs to the text before it if it has no timing: there are spaces in the line between.
    """
    timings = [i for i, line in enumerate(block) if _TIMING.match(line.text)]
    is_header = is_vtt and bool(block) and block[0].number == 1
    if is_header and not _HEADER.match(block[0].text):
        _refuse(name, block[0], "expected WEBVTT at the beginning, found {}; add it, or say which --form the file has")
    has_no_text = not block or is_header or (is_vtt and _BLOCK.match(block[0].text) is not None)
    if len(timings) > 1:
        _refuse(name, block[timings[1]], "a timing inside the text of a subtitle; put a blank line before its number")
    n_before = timings[0] + 1 if timings else len(block) if has_no_text else 0
    is_right = n_before == 1 or has_no_text or (n_before == 2 and (is_vtt or block[0].text.strip().isdecimal()))
    if not is_right and (n_before or not is_text):
        expected = "the number and the timing of a subtitle, such as 1 and 00:00:01,000 --> 00:00:02,500"
        _refuse(name, block[0], f"expected {expected}, found {{}}; correct it, or remove a blank line before it")
    yield from (line.untouched() for line in block[:n_before])
    if text := block[n_before:]:
        yield cue_piece(text, is_vtt)


def _refuse(name: str, line: Line, problem: str) -> NoReturn:
    raise TranslationError(f"{name}:{line.number}: {problem.format(repr(line.text[:_SHOWN]))}")
