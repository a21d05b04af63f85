"""Text in blocks, which decide what is searched together and what can be shared.

A batch holds sentences of one block. So what a block becomes, down to the last bit, depends on its own text alone: not
on who translates the other blocks, nor on where an earlier run stopped. The blocks are a function of the text and of
the size of batches, so all processes cut at the same places.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

U = TypeVar("U")  # a line, or another piece of the input

# Characters of a block for each token of a batch and hypothesis. Most text has 3 to 5 characters a token, so a block
# has 15 to 24 full batches. The last batches of a block are less full: that adds 0.5% of padding to short sentences
# (Tatoeba), and 3% to news. A process never takes less than a block, so smaller ones share out better.
_CHARACTERS_PER_TOKEN = 72


@dataclass(slots=True)
class Placed(Generic[U]):
    """A unit of the input, and where it stands.

    Attributes:
        number: of the unit, from 0.
        first_text: number of its first text, from 0. A line is one text; a unit without any counts as one.
        block: number of its block, from 0.
        ends_block: whether the next unit begins another block.
    """

    unit: U
    number: int
    first_text: int
    block: int
    ends_block: bool


class Given(NamedTuple):
    """A line to translate.

    Attributes:
        prefix: what its translations begin with; blank for nothing.
        number: from 0. Sampling and messages use it.
        block: number of its block, from 0.
    """

    text: str
    prefix: str = ""
    number: int = 0
    block: int = 0


def block_size(max_batch_tokens: int, n_hypotheses: int) -> int:
    """Characters of a block: enough to fill some batches with sentences of so many hypotheses."""
    return max(1, _CHARACTERS_PER_TOKEN * max_batch_tokens // n_hypotheses)


def placed(
    units: Iterable[U], size: int, n_characters: Callable[[U], int], n_texts: Callable[[U], int]
) -> Iterator[Placed[U]]:
    """The units with their places. A block ends with the unit by which it has `size` characters.

    Args:
        size: 0: all is one block.
        n_characters: of a unit.
        n_texts: of a unit, 0 or more.
    """
    n_inside = block = first_text = 0
    for number, unit in enumerate(units):
        n_inside += n_characters(unit)
        ends_block = 0 < size <= n_inside
        yield Placed(unit, number, first_text, block, ends_block)
        first_text += n_texts(unit) or 1
        if ends_block:
            n_inside, block = 0, block + 1
