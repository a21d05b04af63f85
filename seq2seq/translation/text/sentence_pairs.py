"""Which sentences of a line and of its translation belong together (Gale and Church 1993)."""

from collections.abc import Sequence
from math import inf, log, sqrt
from typing import NamedTuple

# How often sentences are translated one by one, merged or split; Gale and Church 1993, table 5, and more merged ones.
# Sentences without a partner are not among them: who scores a pair has to score all of it.
_BEADS = {(1, 1): 0.89, (2, 1): 0.0445, (1, 2): 0.0445, (2, 2): 0.011, (3, 1): 0.005, (1, 3): 0.005}
_VARIANCE = 6.8  # of the characters of a translation, for each character of the source (section 3.2)
_MOST_CELLS = 1 << 18  # a line with more sentences than this allows is left whole


class Bead(NamedTuple):
    """Sentences that are translations of each other, as slices of the two lists."""

    source: slice
    target: slice


def pair_sentences(sources: Sequence[str], targets: Sequence[str]) -> list[Bead]:
    """The sentences of a line with those of its translation, in order: each sentence is in one bead.

    As many on both sides are taken one by one. Otherwise lengths decide, by dynamic programming. Where no beads of up
    to three sentences fit, all sentences are one bead.
    """
    if len(sources) == len(targets):
        return [Bead(slice(i, i + 1), slice(i, i + 1)) for i in range(len(sources))]
    whole = [Bead(slice(0, len(sources)), slice(0, len(targets)))]
    if len(sources) * len(targets) > _MOST_CELLS:
        return whole
    # cost[i][j]: of the best beads for the first i sources and j targets, and the last one of these beads
    cost = [[inf] * (len(targets) + 1) for _ in range(len(sources) + 1)]
    last = [[(0, 0)] * (len(targets) + 1) for _ in range(len(sources) + 1)]
    cost[0][0] = 0.0
    for i in range(1, len(sources) + 1):
        for j in range(1, len(targets) + 1):
            for (a, b), prior in _BEADS.items():
                if a > i or b > j or cost[i - a][j - b] == inf:
                    continue
                new = cost[i - a][j - b] - log(prior) + _mismatch(sources[i - a : i], targets[j - b : j])
                if new < cost[i][j]:
                    cost[i][j], last[i][j] = new, (a, b)
    i, j = len(sources), len(targets)
    if cost[i][j] == inf:
        return whole
    beads = []
    while i:
        a, b = last[i][j]
        beads.append(Bead(slice(i - a, i), slice(j - b, j)))
        i, j = i - a, j - b
    return beads[::-1]


def _mismatch(sources: Sequence[str], targets: Sequence[str]) -> float:
    """Minus the log of how probable a difference in length of at least this size is, but for a constant factor.

    The tail of the normal distribution at |z| is taken as exp(-z^2 / 2), which no erfc underflows.
    """
    n_src, n_tgt = sum(map(len, sources)), sum(map(len, targets))
    z = (n_tgt - n_src) / sqrt(_VARIANCE * max(1.0, (n_src + n_tgt) / 2))
    return z * z / 2
