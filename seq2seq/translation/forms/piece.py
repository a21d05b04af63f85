"""What every form of input is cut into: pieces, each with some texts and a way to put their translations back."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from seq2seq.translation.blocks import Given, Placed
from seq2seq.translation.text.health import Finding

Translated = TypeVar("Translated")


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


def translate_pieces(
    pieces: Iterable[Placed[Piece] | None],
    translate: Callable[[Iterator[Given | None]], Generator[Translated, None, None]],
) -> Generator[tuple[Piece, list[Translated]], None, None]:
    """Each piece with the translations of its texts, in order.

    Memory grows only by as many pieces as `translate` reads ahead. A piece without texts sends an empty one through
    `translate`: so it waits in the same queue, and comes out as soon as all before it are done.

    Args:
        pieces: None stands for a moment without one; `translate` gets it.
        translate: from texts to one translation for each, in order. It may read ahead.
    """
    waiting: deque[Piece] = deque()

    def texts() -> Iterator[Given | None]:
        for each in pieces:
            if each is None:
                yield None
                continue
            waiting.append(each.unit)
            for number, text in enumerate(each.unit.texts or ("",), start=each.first_text):
                yield Given(text, "", number, each.block)

    with closing(translate(texts())) as translations:
        for first in translations:
            piece = waiting.popleft()
            group = [first, *islice(translations, len(piece.texts) - 1)] if len(piece.texts) > 1 else [first]
            yield piece, group if piece.texts else []
