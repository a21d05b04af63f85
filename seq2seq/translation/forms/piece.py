"""What every form of input is cut into: pieces, each with some texts and a way to put their translations back.

And how the lines of wrapped text are joined, and text is wrapped anew.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from seq2seq.characters import EAST_ASIAN, UNSPACED
from seq2seq.translation.text.health import Finding


@dataclass(frozen=True)
class Piece:
    """A part of a file: texts to translate, and what the file holds when they are translated.

    Attributes:
        source: the part as it was read, with its line ends. The sources of all pieces, one after the other, are the
            file.
        line: number of its first line, from 1.
        texts: none or more, without line ends and without white space around them. A text may be empty.
        render: makes the part from as many translations as there are texts, with line ends.
        findings: what is lost in this form whatever the translation is.
        beside: what goes with it in another file: a prefix of the translation, or a translation that is to be scored.
    """

    source: str
    line: int
    texts: Sequence[str]
    render: Callable[[Sequence[str]], str]
    findings: tuple[Finding, ...] = ()
    beside: str = ""

    @classmethod
    def of_line(cls, text: str, number: int, beside: str = "") -> "Piece":
        """A line that is translated as a whole."""
        return cls(text, number, (text,), "".join, beside=beside)


class Line(NamedTuple):
    """A line of a file."""

    text: str
    end: str  # LF or CRLF; empty at the end of a file
    number: int  # from 1

    @property
    def source(self) -> str:
        """The line as it was read."""
        return self.text + self.end

    def untouched(self) -> Piece:
        """The line as a piece that has nothing to translate."""
        return Piece(self.source, self.number, (), lambda _: self.source)


def numbered(lines: Iterable[str]) -> Iterator[Line]:
    """Lines that have their ends, taken apart. One CR before the LF belongs to the end."""
    for number, line in enumerate(lines, start=1):
        text = line.removesuffix("\n").removesuffix("\r")
        yield Line(text, line[len(text) :], number)


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter or a digit."""
    return any(map(str.isalnum, text))


# --- wrapped text ---

SOFT_HYPHEN = "\u00ad"
_HYPHENS = ("-", "\u2010")
_OPENING = frozenset(("«", "‹", "“", "„", "‘", "(", "[", "¿", "¡"))
# At the beginning of a line, these would be a list item, a heading, a row, a quotation, a new speaker or a song.
_LIKE_A_MARKER = re.compile(r"[-–—](?!\d)|[*+•◦‣>#|♪♫]|(?:\d+[.)]|[a-z]\))$")
_UNSPACED = regex.compile(f"(?V1){UNSPACED}")
# Between two characters of Chinese or Japanese, by the classes of UAX 14: no line ends with an opening bracket, or
# begins with a closing one, a stop, a comma, a small kana or a sign that repeats or lengthens.
_NO_END = r"\p{Line_Break=OP}"
_NO_START = r"[\p{Line_Break=CL}\p{Line_Break=CP}\p{Line_Break=EX}\p{Line_Break=NS}\p{Line_Break=CJ}]"
_CUT = regex.compile(rf"(?V1)(?<=[{EAST_ASIAN}--{_NO_END}])(?=[{EAST_ASIAN}--{_NO_START}])")


def unwrap(lines: Iterable[str]) -> str:
    """Lines of one text as one line.

    They are joined with a space. A soft hyphen at the end of a line goes, with the line end. After any other hyphen
    that follows a letter, the next line is joined without a space. The hyphen stays, since it may belong to the word:
    "arrière-" and "plan" become "arrière-plan". Scripts that are written without spaces get none.

    Args:
        lines: without line ends and without white space around them; none is empty.
    """
    joined: list[str] = []
    for line in lines:
        if joined:
            before = joined[-1]
            if before.endswith(SOFT_HYPHEN):
                joined[-1] = before[:-1]
            elif not _is_broken_word(before, line) and not (_UNSPACED.match(before[-1]) and _UNSPACED.match(line)):
                joined.append(" ")
        joined.append(line)
    return "".join(joined)


def columns(text: str) -> int:
    """How wide a text is: a wide character, as of Chinese, takes two columns, and any other takes one."""
    return len(text) + (0 if text.isascii() else sum(unicodedata.east_asian_width(each) in "WF" for each in text))


def wrap(text: str, width: int, first: str = "", rest: str = "", *, only_at_spaces: bool = False) -> list[str]:
    """`text` in lines of at most `width` columns, unless a word is longer. Runs of spaces become one space.

    No line begins with what would look like the beginning of a list item, or with punctuation alone: that stays with
    the word before it. Other white space than a space, such as a no-break space, does not end a word. A line may also
    end between two characters of Chinese or Japanese.

    Args:
        first, rest: what the first line, and each further line, begins with. It counts.
        only_at_spaces: in Chinese and Japanese, too.
    """
    return _fill(_unbreakable(text, only_at_spaces=only_at_spaces), width, first, rest)


def balance(text: str, n_lines: int, width: int) -> list[str]:
    """`text` in at most `n_lines` lines whose longest is as short as possible.

    There are fewer lines if the text fits into fewer of `width` columns. One line is the text itself.
    """
    if n_lines == 1:
        return [text]
    words = _unbreakable(text)
    n_lines = min(n_lines, len(_fill(words, width)))
    widths = range(1, columns(text) + 2)
    narrowest = bisect_left(widths, True, key=lambda w: len(_fill(words, w)) <= n_lines)
    return _fill(words, widths[narrowest])


def _fill(words: Sequence[str], width: int, first: str = "", rest: str = "") -> list[str]:
    lines = [[first]]
    length = columns(first)
    for word in words:
        if len(lines[-1]) > 1 and length + columns(word) > width:
            lines.append([rest])
            length = columns(rest)
        shown = word if len(lines[-1]) > 1 else word.removeprefix(" ")
        lines[-1].append(shown)
        length += columns(shown)
    return ["".join(line) for line in lines]


def _is_broken_word(before: str, after: str) -> bool:
    return before.endswith(_HYPHENS) and before[-2:-1].isalpha() and after[0].isalpha()


def _unbreakable(text: str, *, only_at_spaces: bool = False) -> list[str]:
    """The words of a text, or parts of them, each with the space before it.

    Those that must not begin or end a line are together with their neighbour.
    """
    groups: list[list[str]] = []
    is_opened = False
    for word in text.split(" "):
        if not word:
            continue
        is_opening = word in _OPENING
        follows = not is_opening and (not any(map(str.isalnum, word)) or _LIKE_A_MARKER.match(word) is not None)
        start, *others = [word] if only_at_spaces or word.isascii() else _CUT.split(word)
        if groups and (is_opened or follows):
            groups[-1].append(f" {start}")
        else:
            groups.append([f" {start}"])
        groups += [[other] for other in others]
        is_opened = is_opening
    return ["".join(group) for group in groups]
