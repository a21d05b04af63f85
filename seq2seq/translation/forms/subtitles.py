"""Subtitles, SubRip (.srt) and WebVTT (.vtt): only the text of each one is translated.

All else comes out as it was: numbers, names, timing lines with their settings, the header, the blocks NOTE, STYLE and
REGION, and blank lines.

The lines of a subtitle are one text, except that a line that begins with a dash (a new speaker), a note (a song) or a
voice tag begins another. Tags, dashes and notes at the edges of a text stay around it. Tags inside a text are left
out together with their partners, since nobody knows which words they belong to.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NoReturn

from seq2seq.errors import TranslationError
from seq2seq.translation.forms.piece import Line, Piece, has_words, numbered
from seq2seq.translation.forms.wrapping import balance, unwrap
from seq2seq.translation.text.health import Finding

_TAG = r"</?[a-zA-Z][^<>]*>|<\d[\d:.]*>|</?>|\{\\[^{}]*\}"  # <i>, </i>, <v Anne>, <00:00:01.000>, {\an8}
_IS_TAG = re.compile(_TAG)
_TOKEN = re.compile(rf"({_TAG}|[\s♪♫]+)")
_LINE_BREAK = re.compile(r"<br ?/?>")
_CLOSED_AND_OPENED_AGAIN = re.compile(r"</(\w+)>(\s*)<\1>")  # each line in its own italics
_NAME = re.compile(r"<(/?)([a-zA-Z]*)")
_DASH = re.compile(r"[-–—]+(?!\d)")  # no negative number
_NOTES = ("♪", "♫")


@dataclass
class _Text:
    """One text of a subtitle. `tokens` are its tags, white space and words, in order."""

    tokens: list[str]
    begin: int  # tokens before this one are in front of the words
    end: int  # tokens from this one on are behind the words
    n_lines: int  # of the file
    width: int  # characters of its longest line, without tags
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
    return _IS_TAG.sub("", line.text).strip()


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
    return [_Text(tokens, begin, end, len(lines), max(len(_bare(line)) for line in lines))]


def _is_around(token: str) -> bool:
    return _TOKEN.fullmatch(token) is not None


def _drop_inner_tags(texts: Sequence[_Text]) -> list[str]:
    """Leave out the tags inside a text, and their partners wherever they are. Returns these tags, in order."""
    opened: dict[str, list[tuple[int, int]]] = {}
    dropped: set[tuple[int, int]] = set()
    inner: set[tuple[int, int]] = set()
    for n, text in enumerate(texts):
        for i, token in enumerate(text.tokens):
            if not _IS_TAG.fullmatch(token):
                continue
            if text.begin <= i < text.end:
                inner.add((n, i))
            name = _NAME.match(token)
            if name is not None and name[1]:
                if waiting := opened.get(name[2]):
                    pair = {waiting.pop(), (n, i)}
                    dropped |= pair if pair & inner else set()
            elif name is not None:
                opened.setdefault(name[2], []).append((n, i))
    dropped |= inner
    for n, i in dropped:
        texts[n].dropped.add(i)
    return [texts[n].tokens[i] for n, i in sorted(dropped)]


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


def read_srt(lines: Iterable[str], name: str) -> Iterator[Piece]:
    """The texts of SubRip subtitles, and what stands between them, as pieces.

    Args:
        lines: with their line ends.
        name: of the file, for messages.
    Raises:
        TranslationError: the lines are not subtitles; the message names the first line that is wrong.
    """
    yield from _Subtitles(name, is_vtt=False).read(numbered(lines))


def read_vtt(lines: Iterable[str], name: str) -> Iterator[Piece]:
    """The texts of WebVTT subtitles, and what stands between them, as pieces.

    The arguments and errors are those of `read_srt`.
    """
    numbered_lines: Iterator[Line] = numbered(lines)
    for line in numbered_lines:
        if line.number == 1 and not _HEADER.match(line.text):
            raise TranslationError(
                f"{name}:1: expected WEBVTT at the beginning, found {line.text[:_SHOWN]!r}; add it, "
                "or say which form the file has with --form"
            )
        if _TIMING.match(line.text):  # without a blank line before it
            numbered_lines = chain([line], numbered_lines)
            break
        yield line.untouched()
        if not line.text:
            break
    yield from _Subtitles(name, is_vtt=True).read(numbered_lines)


class _Subtitles:
    """Where the reader is in a file."""

    def __init__(self, name: str, is_vtt: bool) -> None:
        self._name = name
        self._is_vtt = is_vtt
        self._cue: list[Line] | None = None  # the text of a subtitle so far; None outside of one
        self._in_block = False  # NOTE, STYLE or REGION
        self._number: Line | None = None  # the number or name of a subtitle whose timing has not come yet

    def read(self, lines: Iterator[Line]) -> Iterator[Piece]:
        for line in lines:
            if self._cue is None:
                self._pass(line)
                yield line.untouched()
            elif line.text and not _TIMING.match(line.text):
                self._cue.append(line)
                if len(self._cue) > _MOST_LINES:
                    self._refuse(line, f"a subtitle has more than {_MOST_LINES} lines; put blank lines between them")
            else:
                yield from self._end_cue(line)
                self._cue = [] if line.text else None
                yield line.untouched()
        if self._cue:
            yield cue_piece(self._cue, self._is_vtt)
        if self._number is not None:
            self._refuse(self._number, "the file ends before the timing of this subtitle; is it cut off?")

    def _pass(self, line: Line) -> None:
        """Take note of a line outside of the text of a subtitle."""
        self._in_block = self._in_block and bool(line.text) and not _TIMING.match(line.text)
        if self._in_block:
            return
        if _TIMING.match(line.text):
            self._number = None
            self._cue = []
        elif self._number is not None or "-->" in line.text:
            self._refuse(line, "expected a timing such as 00:00:01,000 --> 00:00:02,500, found {}; correct it")
        elif self._is_vtt and _BLOCK.match(line.text):
            self._in_block = True
        elif self._is_vtt or line.text.strip().isdecimal():
            self._number = None if line.is_blank else line
        elif not line.is_blank:
            self._refuse(
                line,
                "expected the number or the timing of a subtitle, found {}; if it belongs to the subtitle above, "
                "remove the blank line between them",
            )

    def _end_cue(self, line: Line) -> Iterator[Piece]:
        """The text of the subtitle that ends before `line`, which is empty or the timing of the next one.

        Some files have spaces in the blank line before a number. In others, such a line is part of a subtitle. So only
        the timing below it tells.
        """
        assert self._cue is not None
        n_lines = len(self._cue)
        if line.text:
            n_lines = next((n_lines - i for i in (1, 2) if i <= n_lines and self._cue[-i].is_blank), -1)
            if n_lines < 0:
                self._refuse(line, "a timing inside the text of a subtitle; put a blank line before it and its number")
        if n_lines:
            yield cue_piece(self._cue[:n_lines], self._is_vtt)
        yield from (each.untouched() for each in self._cue[n_lines:])

    def _refuse(self, line: Line, problem: str) -> NoReturn:
        raise TranslationError(f"{self._name}:{line.number}: {problem.format(repr(line.text[:_SHOWN]))}")
