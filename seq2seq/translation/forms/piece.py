"""What every form of input is cut into: pieces, each with some texts and a way to put their translations back."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
    """

    source: str
    line: int
    texts: Sequence[str]
    render: Callable[[Sequence[str]], str]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of_line(cls, text: str, number: int) -> "Piece":
        """A line that is translated as a whole."""
        return cls(text, number, (text,), "".join)

    @property
    def n_lines(self) -> int:
        """Lines of the file in this part."""
        return self.source.count("\n") + (not self.source.endswith("\n"))


class Line(NamedTuple):
    """A line of a file."""

    text: str
    end: str  # LF or CRLF; empty at the end of a file
    number: int  # from 1

    @property
    def source(self) -> str:
        """The line as it was read."""
        return self.text + self.end

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

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
