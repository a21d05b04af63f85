"""Subtitles, SubRip (.srt) and WebVTT (.vtt): only the text of each one is translated.

All else comes out as it was: numbers, names, timing lines with their settings, the header, the blocks NOTE, STYLE and
REGION, and blank lines.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NoReturn

from seq2seq.errors import TranslationError
from seq2seq.translation.forms.cue import cue_piece
from seq2seq.translation.forms.piece import Line, Piece, numbered

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
