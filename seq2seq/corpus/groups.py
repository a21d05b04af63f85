"""Pairs that share a sentence. Such pairs must not be divided between training text and test text.

Two sentences of one language are alike if they differ in nothing but case, punctuation, white space and Unicode's
compatibility forms: "Ça va ?" and "ça va!" are alike. Two pairs are in one group if their sources or their targets are
alike. So are all pairs that a chain of such pairs connects.
"""

import sys
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

from seq2seq.characters import composed
from seq2seq.corpus.hashes import Hashes

Groups = NDArray[np.int64]


def comparable(sentence: str) -> str:
    """The same string for all sentences that are alike. A sentence of only punctuation keeps its punctuation."""
    folded = composed(composed(sentence, "NFKC").casefold(), "NFKC")
    kept = folded
    for character in _ignored_characters().intersection(folded):  # ten times faster than a regular expression
        kept = kept.replace(character, "")
    return kept or "".join(folded.split())


def connected(src: Hashes, tgt: Hashes) -> Groups:
    """The group of each pair, as numbers from 0.

    Sources are the nodes of a graph. An edge joins two sources that have the same target. Each node points to a node
    of its group with a smaller number, or to itself. Each round joins all groups that have an edge between them. The
    numbers come from hashes, so they are in random order, and a few rounds are enough even for long chains.

    Args:
        src, tgt: hashes of the sides of each pair, equal where sentences are alike.
    """
    sources, source_indices = np.unique(src, return_inverse=True)
    by_target = np.argsort(tgt, kind="stable")
    left, right = by_target[:-1], by_target[1:]
    alike = tgt[left] == tgt[right]
    a, b = source_indices[left[alike]], source_indices[right[alike]]
    first = np.arange(len(sources))
    while len(a):
        np.minimum.at(first, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(further := first[first], first):
            first = further
        a, b = first[a], first[b]
        apart = a != b
        a, b = a[apart], b[apart]
    return np.unique(first[source_indices], return_inverse=True)[1]


@cache
def _ignored_characters() -> frozenset[str]:
    """Punctuation, white space, and invisible characters such as the soft hyphen."""
    kinds = ("P", "Z", "Cc", "Cf")
    return frozenset(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c).startswith(kinds))
