"""A corpus source cut into blocks of pairs, so that several processes can share it, and a sample of its pairs.

Every process reads the files from their beginning, since compressed text can be read in no other way.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby, islice, pairwise
from typing import Any

from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import Source
from seq2seq.errors import CorpusError


@dataclass(frozen=True)
class Cut:
    """A source without augmentations in blocks of `size` pairs; the last one may be smaller."""

    source: Source
    n_pairs: int
    size: int

    @classmethod
    def of(cls, source: Source, size: int) -> "Cut":
        """
        Raises:
            CorpusError: what `read_pairs` raises.
        """
        assert not source.augmentations
        return cls(source, sum(1 for _ in read_pairs(source)), size)

    @property
    def n_blocks(self) -> int:
        return -(-self.n_pairs // self.size)

    def size_of(self, number: int) -> int:
        """Pairs of a block."""
        return min(self.size, self.n_pairs - number * self.size)


class BlockReader:
    """Reads blocks of a source in ascending order; some may be left out."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._pairs: Any = read_pairs(cut.source)  # a generator
        self._n_passed = 0

    def __enter__(self) -> "BlockReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._pairs.close()

    def read(self, number: int) -> list[tuple[str, str]]:
        """The pairs of a block.

        Raises:
            CorpusError: what `read_pairs` raises; a source that has changed.
        """
        begin, n = number * self._cut.size, self._cut.size_of(number)
        pairs = list(islice(self._pairs, begin - self._n_passed, begin - self._n_passed + n))
        is_last = number == self._cut.n_blocks - 1
        if len(pairs) != n or (is_last and next(self._pairs, None) is not None):
            raise CorpusError(
                f"{self._cut.source} changed while the text was prepared; start again when it stays as it is"
            )
        self._n_passed = begin + n
        return pairs


def sampled_pairs(sources: Sequence[Source], most: int) -> Iterator[tuple[str, str]]:
    """`most` pairs of the sources, or all if there are fewer, in order.

    The corpus is divided into `most` stretches of the same length, and one pair of each is drawn at random, always the
    same one. So no sample has to be in memory.

    Raises:
        CorpusError: what `read_pairs` raises, as far as the text is read.
    """
    cuts = [Cut.of(source, size=1) for source in sources]
    ends = list(accumulate(cut.n_pairs for cut in cuts))
    n = min(most, ends[-1])
    draw = random.Random(0).random
    bounds = pairwise(k * ends[-1] // n for k in range(n + 1))
    places = (begin + int(draw() * (end - begin)) for begin, end in bounds)
    for number, places_in_source in groupby(places, partial(bisect_right, ends)):
        cut = cuts[number]
        begin = ends[number] - cut.n_pairs
        with BlockReader(cut) as reader:
            for place in places_in_source:
                yield reader.read(place - begin)[0]
