"""A corpus source cut into blocks of pairs, so that several processes can share it, and a sample of its pairs.

Every process reads the files from their beginning, since compressed text can be read in no other way. It decodes only
the pairs that it wants. To pass over the others is fast: 0.2 of the 40 microseconds that BPE takes for a pair.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby, islice, pairwise
from typing import BinaryIO

from seq2seq.corpus.compression import open_binary
from seq2seq.corpus.reader import (
    count_lines,
    decode_lines,
    empty_corpus,
    not_aligned,
    paired_files,
    pairs_in,
    skip_lines,
)
from seq2seq.corpus.sources import Source
from seq2seq.errors import CorpusError


@dataclass(frozen=True)
class Cut:
    """A source without augmentations in blocks of `size` pairs; the last one may be smaller.

    `n_pairs` are the lines of its first file. If another one has more or fewer, reading says so.
    """

    source: Source
    n_pairs: int
    size: int

    @classmethod
    def of(cls, source: Source, size: int) -> "Cut":
        """
        Raises:
            CorpusError: the first file cannot be read, is damaged or empty.
        """
        assert not source.augmentations
        n_pairs = count_lines(paired_files(source)[0])
        if not n_pairs:
            raise empty_corpus(source)
        return cls(source, n_pairs, size)

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
        self._files = paired_files(cut.source)
        self._streams: list[BinaryIO] = []
        self._n_passed = 0  # pairs

    def __enter__(self) -> "BlockReader":
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._streams:
            stream.close()

    def read(self, number: int) -> list[tuple[str, str]]:
        """The pairs of a block.

        Raises:
            CorpusError: what `read_pairs` raises.
        """
        self._open()
        begin, n = number * self._cut.size, self._cut.size_of(number)
        n_skipped = [
            skip_lines(stream, str(file), begin - self._n_passed, self._n_passed + 1)
            for stream, file in zip(self._streams, self._files, strict=True)
        ]
        if min(n_skipped) < begin - self._n_passed:
            raise self._other_length()
        lines = [
            decode_lines(stream, str(file), first=begin + 1)
            for stream, file in zip(self._streams, self._files, strict=True)
        ]
        rest = pairs_in(self._cut.source, lines, first=begin + 1)
        pairs = list(islice(rest, n))
        if number == self._cut.n_blocks - 1:
            pairs += rest  # raises if one file goes on
        if len(pairs) != n:
            raise self._other_length()
        self._n_passed = begin + n
        return pairs

    def _open(self) -> None:
        if not self._streams:
            for file in self._files:
                try:
                    self._streams.append(open_binary(file))
                except OSError as error:
                    raise CorpusError(
                        f"cannot read {file}: {error.strerror or error}; check its permissions"
                    ) from error

    def _other_length(self) -> CorpusError:
        counts = [count_lines(file) for file in self._files]
        if len(set(counts)) > 1:
            return not_aligned([str(file) for file in self._files], counts)
        names = " and ".join(map(str, self._files))
        return CorpusError(f"{names} changed while the text was prepared; start again when they stay as they are")


def sampled_pairs(sources: Sequence[Source], most: int) -> Iterator[tuple[str, str]]:
    """`most` pairs of the sources, or all if there are fewer, in order.

    The corpus is divided into `most` stretches of the same length, and one pair of each is drawn at random, always the
    same one. So no sample has to be in memory, and lines that are not drawn are not decoded.

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
