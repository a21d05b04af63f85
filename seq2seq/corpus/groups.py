"""Pairs that share a sentence, and so must not be torn apart between training and test text.

Two sentences of one language are alike if they differ in nothing but case, punctuation, white space and Unicode's
compatibility forms: "Ça va ?" and "ça va!" are. Pairs with like sources or like targets are in one group, and so
are all pairs that a chain of such pairs connects.
"""

import sys
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.hashes import Hashes

Groups = NDArray[np.int64]


def comparable(sentence: str) -> str:
    """The same string for all sentences that are alike; a sentence of nothing but punctuation keeps it."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", sentence).casefold())
    kept = folded
    for character in _passed_over().intersection(folded):  # at a tenth of the cost of a regular expression
        kept = kept.replace(character, "")
    return kept or "".join(folded.split())


def connected(src: Hashes, tgt: Hashes) -> Groups:
    """The group of each pair, as numbers from 0.

    Sources are the nodes of a graph, and an edge joins two that have a target in common. Each node points to one of
    its group with a smaller number or to itself; a round joins all groups that have an edge between them, and numbers
    that come from hashes are in random order, so that a few rounds are enough, even for long chains.

    Args:
        src, tgt: of each pair, hashes that are equal where sentences are alike.
    """
    sources, source_of = np.unique(src, return_inverse=True)
    by_target = np.argsort(tgt, kind="stable")
    left, right = by_target[:-1], by_target[1:]
    alike = tgt[left] == tgt[right]
    a, b = source_of[left[alike]], source_of[right[alike]]
    first = np.arange(len(sources))
    while len(a):
        np.minimum.at(first, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(further := first[first], first):
            first = further
        a, b = first[a], first[b]
        apart = a != b
        a, b = a[apart], b[apart]
    return np.unique(first[source_of], return_inverse=True)[1]


@cache
def _passed_over() -> frozenset[str]:
    """Punctuation, white space, and invisible characters such as the soft hyphen."""
    kinds = ("P", "Z", "Cc", "Cf")
    return frozenset(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c).startswith(kinds))
