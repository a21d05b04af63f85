"""Which kinds of text validation has: what its sources have as a tag, or else the sources themselves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import SourceSpec
from seq2seq.config.sources import SourceFiles


@dataclass(frozen=True)
class Domains:
    """The domain of each pair of a split."""

    names: list[str]  # in the order of the sources
    numbers: NDArray[np.int64]  # for each pair, which of the names is its own

    @classmethod
    def of(cls, sources: Sequence[SourceSpec], n_pairs: Sequence[int]) -> "Domains":
        """n_pairs: of each source, one after the other. Sources with the same tag are one domain."""
        stems = Counter(source.stem for source in sources if not source.tag)
        of_sources = [source.tag or (source.stem if stems[source.stem] == 1 else _path(source)) for source in sources]
        names = list(dict.fromkeys(of_sources))
        return cls(names, np.repeat([names.index(name) for name in of_sources], n_pairs))

    def name(self, pair: int) -> str:
        return self.names[self.numbers[pair]]

    def places(self, pairs: Sequence[int] | NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """For each domain, where its pairs stand among these."""
        numbers = self.numbers[np.asarray(pairs, dtype=np.int64)]
        return [np.flatnonzero(numbers == number) for number in range(len(self.names))]

    def choose(self, pairs: Sequence[int], n: int) -> list[int]:
        """Places of `n` of these pairs, ascending: equally many of each domain that has so many, at equal distances."""
        parts = sorted(self.places(pairs), key=len)
        chosen: list[int] = []
        for n_left, part in zip(range(len(parts), 0, -1), parts, strict=True):
            share = min((n - len(chosen)) // n_left, len(part))
            chosen += [int(part[i]) for i in spread(len(part), share)] if share else []
        return sorted(chosen)


def spread(n_all: int, n: int) -> list[int]:
    """Indices of `n` sentences at equal distances, so that each part of a mixed corpus has its share; n=0: all."""
    n = min(n or n_all, n_all)
    return [i * n_all // n for i in range(n)]


def _path(source: SourceSpec) -> str:
    return source.src if isinstance(source, SourceFiles) else source.path
