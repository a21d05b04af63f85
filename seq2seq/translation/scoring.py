"""How probable a model finds given translations."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from seq2seq.config import DecodingConfig
from seq2seq.decoding.length import length_penalty
from seq2seq.decoding.plan import plan_batches
from seq2seq.errors import TranslationError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.workers import Workers, result_of
from seq2seq.translation.result import TextHypothesis
from seq2seq.translation.stream import WINDOWS, encode_lines
from seq2seq.vocabulary import EOS


def score_pairs(
    engine: Engine,
    tokenizer: Tokenizer,
    pairs: Iterable[tuple[str, str]],
    decoding: DecodingConfig,
    tag_ids: list[int],
    first_number: int = 0,
) -> Iterator[TextHypothesis]:
    """Score each pair, in order, in memory that does not grow with their number.

    Args:
        pairs: source and translation. If both are blank, the log-probability is 0.
        decoding: only its normalisation and its size of batches are used.
        tag_ids: one id that each source begins with, or none.
        first_number: number of pairs before the first one, for messages.
    Yields:
        The given translation with its log-probability, its score, and the log-probability of each token.
    Raises:
        TranslationError: a source or a translation has more tokens than the model reads, or only one of them is blank.
        TokenizerError: a line is not Unicode.
    """
    numbered = enumerate(pairs, start=first_number + 1)
    workers = Workers(engine)
    try:
        while window := list(islice(numbered, WINDOWS[0])):
            sources, targets = _encode(engine, tokenizer, window, tag_ids)
            scores = _log_probs(workers, sources, targets, decoding)
            for (_, (_, text)), target, log_probs in zip(window, targets, scores, strict=True):
                total = sum(log_probs)
                penalty = length_penalty(max(1, len(log_probs)), decoding.normalization, decoding.alpha)
                tokens = list(zip(tokenizer.pieces([*target, EOS]), log_probs, strict=False))
                yield TextHypothesis(text, total, total / penalty, tokens)
    finally:
        workers.close()


def _encode(
    engine: Engine, tokenizer: Tokenizer, window: Sequence[tuple[int, tuple[str, str]]], tag_ids: list[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Token ids of the sources, which begin with their tag, and of the targets."""
    sources = [tag_ids + ids if ids else ids for ids in encode_lines(tokenizer, [src for _, (src, _) in window])]
    targets = encode_lines(tokenizer, [tgt for _, (_, tgt) in window])
    for (number, _), source, target in zip(window, sources, targets, strict=True):
        longest = max(len(source), len(target))
        if longest >= engine.max_length:
            raise TranslationError(
                f"line {number} has {longest} tokens, and the model scores at most {engine.max_length - 1}; split it"
            )
        if bool(source) != bool(target):
            raise TranslationError(f"line {number}: one of source and translation is blank, and the other is not")
    return sources, targets


def _log_probs(
    workers: Workers, sources: list[list[int]], targets: list[list[int]], decoding: DecodingConfig
) -> list[list[float]]:
    """For each pair: the log-probabilities of its target tokens and of eos; none if both sides are blank."""
    log_probs: list[list[float]] = [[] for _ in sources]
    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    batches = [
        (indices, workers.submit(_score, [sources[i] for i in indices], [targets[i] for i in indices]))
        for indices in plan_batches(lengths, dataclasses.replace(decoding, sampling=False))
    ]
    for indices, future in batches:
        batch_log_probs = result_of(future)
        for index, pair_log_probs in zip(indices, batch_log_probs, strict=True):
            log_probs[index] = pair_log_probs
    return log_probs


def _score(engine: Engine, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
    return engine.score(sources, targets)
