"""A line as the parts that a model can read, and what was found for the parts as the translations of the line.

A model that was trained with one sentence a line translates the first sentence of a line and forgets the others, long
before the line is too long to be read. So lines are split into as many sentences as training had on a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import Any, NamedTuple

from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.text.splitting import Part, split_line
from seq2seq.translation.text.taking_out import BREAK


@dataclass(frozen=True)
class LineSplitter:
    """How lines are split.

    Attributes:
        max_tokens: of a part; a part may have more only if it is a single character.
        max_sentences: of a part; None: as many as fit.
    """

    tokenizer: Tokenizer
    max_tokens: int
    max_sentences: int | None

    def split(self, text: str, ends: Sequence[int] | None = None) -> tuple[list[Part], list[list[int]]]:
        """The parts of a line, and the token ids of each. A line without tokens has no parts. None goes over a `BREAK`.

        Args:
            ends: where its sentences end, if that is known.
        Raises:
            TokenizerError: the line is not Unicode.
        """
        parts: list[Part] = []
        ids: list[list[int]] = []
        start = 0
        for whole in text.split(BREAK):
            before = BREAK if parts else ""
            own_ends = None if ends is None else [end - start for end in ends if start <= end <= start + len(whole)]
            found = split_line(
                whole, self.max_tokens, self.tokenizer.encode, ends=own_ends, max_sentences=self.max_sentences
            )
            for part, own_ids in zip(*found, strict=True):
                if own_ids:  # a part may hold nothing but characters that the tokenizer leaves out
                    parts.append(part._replace(start=start + part.start, before=before or part.before))
                    ids.append(own_ids)
                    before = ""
            start += len(whole) + len(BREAK)
        return parts, ids


def n_cut_sentences(ends: Sequence[int], parts: Sequence[Part]) -> int:
    """How many parts end inside a sentence."""
    whole = set(ends)
    return sum(
        part.start + len(part.text) not in whole and BREAK not in following.before
        for part, following in pairwise(parts)
    )


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


def _unlinked(ranks: _Ranks) -> list[int]:
    found = []
    while ranks:
        rank, ranks = ranks
        found.append(rank)
    return found[::-1]
