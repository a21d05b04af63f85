"""Searches written from their definitions, in Python lists: slow, and independent of `seq2seq/decoding/`."""

import itertools
from collections.abc import Callable, Iterator, Sequence

from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.vocabulary import EOS

NextLogProbs = Callable[[tuple[int, ...]], dict[int, float]]


def penalty(n: int, normalization: str, alpha: float) -> float:
    return float({"none": 1, "length": n**alpha, "gnmt": ((5 + n) / 6) ** alpha}[normalization])


def log_prob_of(next_log_probs: NextLogProbs, tokens: Sequence[int]) -> float:
    return sum(next_log_probs(tuple(tokens[:i]))[token] for i, token in enumerate(tokens))


def best_of_all(
    next_log_probs: NextLogProbs,
    ordinary: Sequence[int],
    limit: int,
    n_best: int,
    normalization: str,
    alpha: float,
) -> list[Hypothesis]:
    """Every sequence there is, ranked: those of at most `limit` tokens that end, then those that do not."""

    def hypothesis(tokens: tuple[int, ...], finished: bool) -> Hypothesis:
        whole = (*tokens, EOS) if finished else tokens
        log_prob = log_prob_of(next_log_probs, whole)
        return Hypothesis(list(tokens), log_prob, log_prob / penalty(len(whole), normalization, alpha), finished)

    def of_length(n: int) -> Iterator[tuple[int, ...]]:
        return itertools.product(ordinary, repeat=n)

    ended = [hypothesis(tokens, finished=True) for n in range(1, limit) for tokens in of_length(n)]
    cut = [hypothesis(tokens, finished=False) for tokens in of_length(limit)]
    return (by_score(ended) + by_score(cut))[:n_best]


def beam_search(
    next_log_probs: NextLogProbs, limit: int, beam_size: int, n_best: int, normalization: str, alpha: float
) -> tuple[list[Hypothesis], int]:
    """Beam search that always goes to the limit, and the first step after which it could have stopped."""
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended: list[Hypothesis] = []
    could_stop = []
    for n in range(1, limit + 1):
        extensions = [
            ((*tokens, token), log_prob + gain)
            for tokens, log_prob in live
            for token, gain in next_log_probs(tokens).items()
        ]
        extensions.sort(key=lambda extension: -extension[1])
        for tokens, log_prob in extensions[:beam_size]:
            if tokens[-1] == EOS:
                score = log_prob / penalty(n, normalization, alpha)
                ended.append(Hypothesis(list(tokens[:-1]), log_prob, score, finished=True))
        live = [extension for extension in extensions if extension[0][-1] != EOS][:beam_size]
        # As if a live hypothesis went on with probability 1 and ended at any later length.
        attainable = [
            log_prob / penalty(m, normalization, alpha) for _, log_prob in live for m in range(n + 1, limit + 1)
        ]
        if not attainable or (len(ended) >= n_best and max(attainable) <= by_score(ended)[n_best - 1].score):
            could_stop.append(n)
    cut = [
        Hypothesis(list(tokens), log_prob, log_prob / penalty(limit, normalization, alpha), finished=False)
        for tokens, log_prob in live
    ]
    return (by_score(ended) + by_score(cut))[:n_best], could_stop[0]


def by_score(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)


def assert_same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis], tolerance: float = 1e-5) -> None:
    assert [(h.tokens, h.finished) for h in found] == [(h.tokens, h.finished) for h in expected]
    for one, other in zip(found, expected, strict=True):
        assert abs(one.score - other.score) < tolerance
        assert abs(one.log_prob - other.log_prob) < tolerance
