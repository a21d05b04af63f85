"""Valid and test, to find training pairs that are in them too."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from seq2seq.characters import n_words
from seq2seq.corpus.cleaning.near import NearIndex, side_sketches
from seq2seq.corpus.groups import comparable
from seq2seq.corpus.hashes import Hashes, contained, hash_lines, hash_pairs
from seq2seq.corpus.reader import read_pairs, read_references
from seq2seq.corpus.sources import Source

LEAST_WORDS = 5  # of a side that gives a pair away by itself; "Merci." is in every corpus
SIMILARITY = 0.8  # from which on two sides are nearly the same
_BLOCK = 10_000


class HeldOut:
    """Pairs that must not be in the training text.

    Two sentences are alike if they differ in nothing but case, punctuation and spaces (`groups.py`). A training pair is
    in this text if both of its sides are alike to those of one held-out pair, or if one side of five words or more is
    alike to a held-out side. With `near` it is also if one such side is nearly the same (`near.py`).

    It takes 24 bytes for each held-out pair, and 192 with `near`.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], *, near: bool) -> None:
        self._near = (NearIndex(SIMILARITY), NearIndex(SIMILARITY)) if near else None
        hashes: list[list[Hashes]] = [[], [], []]
        reader = iter(pairs)
        while block := list(islice(reader, _BLOCK)):
            for found, more in zip(hashes, _hashes(block), strict=True):
                found.append(more)
            if self._near is not None:
                for index, found_sketches in zip(self._near, side_sketches(block), strict=True):
                    index.add(found_sketches)
        empty = np.zeros(0, dtype=np.uint64)
        self._pairs, self._src, self._tgt = (np.unique(np.concatenate([empty, *each])) for each in hashes)

    @classmethod
    def of(cls, sources: Iterable[Source], drop_overlap: str) -> "HeldOut":
        """The text of these sources, as `data.drop_overlap` needs it; for `off` nothing is read."""
        return cls(_pairs(sources) if drop_overlap != "off" else (), near=drop_overlap == "near")

    def exact(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.bool_]:
        """Which pairs are in this text."""
        both, src, tgt = _hashes(pairs)
        is_long = _long_sides(pairs)
        return (
            contained(both, self._pairs)
            | (contained(src, self._src) & is_long[:, 0])
            | (contained(tgt, self._tgt) & is_long[:, 1])
        )

    def near(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.bool_]:
        """Which pairs have a side that is nearly the same as one of this text."""
        assert self._near is not None
        is_long = _long_sides(pairs)
        src, tgt = (index.has_like(found) for index, found in zip(self._near, side_sketches(pairs), strict=True))
        return (src & is_long[:, 0]) | (tgt & is_long[:, 1])


def _pairs(sources: Iterable[Source]) -> Iterator[tuple[str, str]]:
    """The pairs of these sources, without augmentations, and each source with its further references."""
    for source in sources:
        plain = replace(source, augmentations=())
        yield from read_pairs(plain)
        if plain.references:
            for (src, _), further in zip(read_pairs(plain), read_references(plain), strict=True):
                yield from ((src, reference) for reference in further)


def _hashes(pairs: Sequence[tuple[str, str]]) -> tuple[Hashes, Hashes, Hashes]:
    """Equal where pairs, sources and targets are alike."""
    alike = [(comparable(src), comparable(tgt)) for src, tgt in pairs]
    return hash_pairs(alike), hash_lines(src for src, _ in alike), hash_lines(tgt for _, tgt in alike)


def _long_sides(pairs: Sequence[tuple[str, str]]) -> NDArray[np.bool_]:
    """Which sides have enough words to give their pair away."""
    found = [[n_words(side) >= LEAST_WORDS for side in pair] for pair in pairs]
    return np.array(found, dtype=np.bool_).reshape(len(pairs), 2)
