"""A beam search for one sentence, written to be read: it asks the model for everything anew at each step.

It stops as CTranslate2 does, when `patience` x `beam_size` hypotheses have ended.
"""

import math
from collections.abc import Sequence

import torch

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis
from seq2seq.model.transformer import Transformer
from seq2seq.vocabulary import BOS, EOS
from tests.decoding.reference import assert_same, by_score, constrained, penalty


def assert_alike(found: Sequence[Sequence[Hypothesis]], expected: Sequence[Sequence[Hypothesis]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs, tolerance=1e-4)


def next_log_probs(model: Transformer, source: list[int], tokens: list[int], config: DecodingConfig) -> list[float]:
    """Of each token after `tokens`, with all that may not come left out of the softmax."""
    with torch.no_grad():
        logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *tokens]]))[0, -1].double().tolist()
    log_probs = constrained(lambda _: logits, config, len(source))(tuple(tokens))
    return [log_probs.get(token, -math.inf) for token in range(len(logits))]


def beam_search(model: Transformer, source: list[int], config: DecodingConfig) -> list[Hypothesis]:
    limit = max(1, min(int(config.max_length_a * len(source) + config.max_length_b), model.config.max_length))
    enough = int(config.patience * config.beam_size + 0.5) if config.beam_size > 1 else 1
    live: list[tuple[list[int], float]] = [([], 0.0)]
    ended: list[Hypothesis] = []
    for n_tokens in range(1, limit + 1):
        candidates = [
            ([*tokens, token], log_prob + gain)
            for tokens, log_prob in live
            for token, gain in enumerate(next_log_probs(model, source, tokens, config))
        ]
        candidates = sorted(candidates, key=lambda each: -each[1])[: 2 * config.beam_size]
        ended += [
            Hypothesis(tokens[:-1], log_prob, log_prob / penalty(n_tokens, config.normalization, config.alpha), True)
            for tokens, log_prob in candidates[: config.beam_size]
            if tokens[-1] == EOS
        ]
        if n_tokens == limit:
            live = [each for each in candidates[: config.beam_size] if each[0][-1] != EOS]
        else:
            live = [each for each in candidates if each[0][-1] != EOS][: config.beam_size]
        if len(ended) >= enough:
            live = []
            break
    cut = [
        Hypothesis(tokens, log_prob, log_prob / penalty(limit, config.normalization, config.alpha), False)
        for tokens, log_prob in live
    ]
    return (by_score(ended) + by_score(cut))[: config.n_best]
