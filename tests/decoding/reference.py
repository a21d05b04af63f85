"""Searches written from their definitions, in Python lists: slow, and independent of `seq2seq/decoding/`."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis
from seq2seq.vocabulary import EOS

NextLogProbs = Callable[[tuple[int, ...]], dict[int, float]]


def penalty(n: int, normalization: str, alpha: float) -> float:
    return float({"none": 1, "length": n**alpha, "gnmt": ((5 + n) / 6) ** alpha}[normalization])


def log_prob_of(next_log_probs: NextLogProbs, tokens: Sequence[int]) -> float:
    """-inf where one of the tokens may not be."""
    return sum(next_log_probs(tuple(tokens[:i])).get(token, -math.inf) for i, token in enumerate(tokens))


def constrained(
    next_logits: Callable[[tuple[int, ...]], Sequence[float]],
    config: DecodingConfig,
    n_src: int,
    prefix: Sequence[int] = (),
) -> NextLogProbs:
    """The distribution that the rules of `config` leave of a model's: what may not be is no part of it."""
    min_length = max(1, int(config.min_length_a * n_src + config.min_length_b))
    n = config.no_repeat_ngram

    def next_log_probs(tokens: tuple[int, ...]) -> dict[int, float]:
        forced = prefix[len(tokens)] if len(tokens) < len(prefix) else None
        allowed = {}
        for token, logit in enumerate(next_logits(tokens)):
            if token < EOS or (token == EOS and not tokens):
                continue
            if token != forced:
                if token == EOS and len(tokens) < min_length:
                    continue
                if n and comes_twice((*tokens, token), n):
                    continue
                if token in tokens:
                    logit = logit / config.repetition_penalty if logit > 0 else logit * config.repetition_penalty
            allowed[token] = logit
        total = math.log(sum(math.exp(logit) for logit in allowed.values())) if allowed else 0.0
        return {token: logit - total for token, logit in allowed.items() if forced is None or token == forced}

    return functools.cache(next_log_probs)


def comes_twice(tokens: Sequence[int], n: int) -> bool:
    """Whether the last n tokens are somewhere before, too; the two may overlap."""
    return any(tokens[i : i + n] == tokens[-n:] for i in range(len(tokens) - n))


def greedy_search(next_log_probs: NextLogProbs, limit: int, normalization: str, alpha: float) -> Hypothesis:
    """It stops at eos, at the limit, or where nothing may follow."""
    tokens: tuple[int, ...] = ()
    log_prob = 0.0
    while len(tokens) < limit and EOS not in tokens and (log_probs := next_log_probs(tokens)):
        tokens = (*tokens, max(log_probs, key=log_probs.__getitem__))
        log_prob += log_probs[tokens[-1]]
    finished = EOS in tokens
    score = log_prob / penalty(max(1, len(tokens)), normalization, alpha)
    return Hypothesis(list(tokens[:-1] if finished else tokens), log_prob, score, finished)


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

    def sequences(n: int) -> Iterator[tuple[int, ...]]:
        return itertools.product(ordinary, repeat=n)

    ended = [hypothesis(tokens, finished=True) for n in range(1, limit) for tokens in sequences(n)]
    cut = [hypothesis(tokens, finished=False) for tokens in sequences(limit)]
    return [h for h in by_score(ended) + by_score(cut) if h.log_prob > -math.inf][:n_best]


def beam_search(
    next_log_probs: NextLogProbs, limit: int, beam_size: int, n_best: int, normalization: str, alpha: float
) -> tuple[list[Hypothesis], int]:
    """Beam search that always goes to the limit, and the first step after which it could have stopped.

    If nothing may follow any of the last ones, and none has ended, they are cut there.
    """
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended: list[Hypothesis] = []
    last: list[tuple[tuple[int, ...], float]] = []
    could_stop = []
    for n in range(1, limit + 1):
        extensions = [
            ((*tokens, token), log_prob + gain)
            for tokens, log_prob in live
            for token, gain in next_log_probs(tokens).items()
        ]
        last = live or last
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
        Hypothesis(
            list(tokens), log_prob, log_prob / penalty(max(1, len(tokens)), normalization, alpha), finished=False
        )
        for tokens, log_prob in (live or ([] if ended else last))
    ]
    return (by_score(ended) + by_score(cut))[:n_best], could_stop[0]


def by_score(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)


def assert_same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis], tolerance: float = 1e-5) -> None:
    assert [(h.tokens, h.finished) for h in found] == [(h.tokens, h.finished) for h in expected]
    for one, other in zip(found, expected, strict=True):
        assert abs(one.score - other.score) < tolerance
        assert abs(one.log_prob - other.log_prob) < tolerance
