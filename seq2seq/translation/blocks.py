"""Text in blocks, each of which is prepared, searched, written and resumed as a whole.

A batch holds sentences of one block. So what a block becomes, down to the last bit, depends on its own text alone: not
on who translates the others, nor on where an earlier run stopped. Blocks are a function of the text and of the size of
batches, so all processes cut at the same places.
"""

import hashlib
import queue
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple, TypeVar

from seq2seq.errors import TranslationError
from seq2seq.translation.forms.piece import Piece

T = TypeVar("T")

# Characters of a block for each token of a batch and hypothesis. Most text has 3 to 5 characters a token, so a block
# has 15 to 24 full batches. In smaller ones, lines of unlike length would share a batch.
_CHARACTERS_PER_TOKEN = 72
_MOST_WAITING = 1024  # lines that are read ahead from a person or another program


class Given(NamedTuple):
    """A text to work on.

    Attributes:
        beside: see `Piece`.
        number: from 0. Sampling and messages use it.
    """

    text: str
    beside: str = ""
    number: int = 0


@dataclass(frozen=True)
class Block:
    """Consecutive pieces of a text.

    Attributes:
        number: from 0.
        first_text: number of its first text, from 0.
        is_last: whether nothing follows, as far as is known.
    """

    number: int
    first_text: int
    pieces: list[Piece]
    is_last: bool

    def given(self) -> Iterator[Given]:
        """The texts of all pieces."""
        numbers = count(self.first_text)
        return (Given(text, piece.beside, next(numbers)) for piece in self.pieces for text in piece.texts)

    @cached_property
    def digest(self) -> str:
        """Of all that decides what becomes of it, but the settings of the search."""
        text = [(piece.line, piece.source, piece.beside) for piece in self.pieces]
        return hashlib.sha256(repr((self.first_text, self.is_last, text)).encode()).hexdigest()


def block_size(max_batch_tokens: int, n_hypotheses: int) -> int:
    """Characters of a block: enough to fill some batches with sentences of so many hypotheses."""
    return max(1, _CHARACTERS_PER_TOKEN * max_batch_tokens // max(1, n_hypotheses))


def cut(
    pieces: Iterable[Piece | None], size: int, patience_s: float | None = None, first_text: int = 0
) -> Iterator[Block | None]:
    """The pieces in blocks, at least one. A block ends with the piece by which it has `size` characters.

    Args:
        pieces: None: there is none at the moment; that is passed on.
        patience_s: how long a piece waits for the next ones; None: as long as it takes.
        first_text: number of texts before the first one.
    """
    number = n_characters = 0
    held: list[Piece] = []
    began_s = 0.0

    def block(*, is_last: bool) -> Block:
        nonlocal number, first_text, n_characters, held
        made = Block(number, first_text, held, is_last)
        number, first_text = number + 1, first_text + sum(len(piece.texts) for piece in held)
        held, n_characters = [], 0
        return made

    for piece in pieces:
        if piece is not None:
            if n_characters >= size:
                yield block(is_last=False)
            began_s = began_s if held else time.monotonic()
            held.append(piece)
            n_characters += len(piece.source) + 1
        if held and patience_s is not None and time.monotonic() - began_s >= patience_s:
            yield block(is_last=True)
        elif piece is None:
            yield None
    if held or not number:
        yield block(is_last=True)


def beside(pieces: Iterable[Piece], lines: Iterable[str], complaint: str) -> Iterator[Piece]:
    """Each piece with the line that goes with it.

    Raises:
        TranslationError: there are not as many lines as pieces, as `complaint` says.
    """
    lines = iter(lines)
    for piece in pieces:
        if (line := next(lines, None)) is None:
            raise TranslationError(complaint)
        yield replace(piece, beside=line)
    if next(lines, None) is not None:
        raise TranslationError(complaint)


def arrivals(lines: Iterable[T], tick_s: float) -> Iterator[T | None]:
    """Lines that come when they come, and None whenever none came for `tick_s` seconds.

    A thread reads them. It may be waiting for a line when the program ends.
    """
    waiting: queue.Queue[T | BaseException | None] = queue.Queue(_MOST_WAITING)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
        except BaseException as error:
            waiting.put(error)
        else:
            waiting.put(None)

    threading.Thread(target=read, name="reader of lines", daemon=True).start()
    while True:
        try:
            line = waiting.get(timeout=tick_s)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        if isinstance(line, BaseException):
            raise line
        yield line
