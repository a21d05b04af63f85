"""What was found for the parts of a line as the translations of the line."""

from collections.abc import Sequence
from heapq import nsmallest
from typing import Any, NamedTuple

from seq2seq.decoding import Hypothesis

Found = Sequence[Hypothesis]  # for one part, best first


_Ranks = tuple[()] | tuple[int, Any]  # a linked list, so that combinations share what they have in common


class Combination(NamedTuple):
    """One hypothesis of each part.

    Attributes:
        n_cut: how many of them were cut at the length limit.
        score: mean of their scores, each weighted by the length of its source: that is the same for all combinations,
            so what is best for a part is best for the line. With one part, it is the score of its hypothesis.
    """

    ranks: list[int]
    n_cut: int
    score: float


def best_combinations(found: Sequence[Found], weights: Sequence[int], n: int) -> list[Combination]:
    """The `n` best ways to take one hypothesis of each part, best first: complete ones first, then by score.

    The best ways for the first parts are found before those for one part more. No better one is lost on the way, since
    what a part adds does not depend on the others.

    Args:
        weights: of each part, above 0.
    """
    total = sum(weights)
    best: list[tuple[int, float, _Ranks]] = [(0, 0.0, ())]  # (n_cut, -score so far, ranks in reverse)
    for hypotheses, weight in zip(found, weights, strict=True):
        share = weight / total
        extended = (
            (n_cut + (not hypothesis.finished), cost - hypothesis.score * share, (rank, ranks))
            for n_cut, cost, ranks in best
            for rank, hypothesis in enumerate(hypotheses)
        )
        best = nsmallest(n, extended, key=lambda each: each[:2])
    return [Combination(_unlinked(ranks), n_cut, -cost) for n_cut, cost, ranks in best]


def drawn_combinations(found: Sequence[Found], weights: Sequence[int]) -> list[Combination]:
    """Samples of a line, best first: each has one sample of each part, and no two have the same one.

    `best_combinations` of samples would be the most probable of them only, and so no samples any more.
    """
    n = min(map(len, found))
    drawn = []
    for number in range(n):
        ranks = [(number + part) % n for part in range(len(found))]  # they are sorted, so not the best with the best
        chosen = [hypotheses[rank] for hypotheses, rank in zip(found, ranks, strict=True)]
        score = sum(each.score * weight for each, weight in zip(chosen, weights, strict=True)) / sum(weights)
        drawn.append(Combination(ranks, sum(not each.finished for each in chosen), score))
    return sorted(drawn, key=lambda each: (each.n_cut, -each.score))


def _unlinked(ranks: _Ranks) -> list[int]:
    found = []
    while ranks:
        rank, ranks = ranks
        found.append(rank)
    return found[::-1]
