"""What a worker does with a batch: a search, and the attention that is needed."""

import dataclasses
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.consensus import consensus
from seq2seq.translation.engines.protocol import Engine, Sentence
from seq2seq.translation.options import TranslationOptions


class Found(NamedTuple):
    """What the search found for one sentence."""

    hypotheses: list[Hypothesis]
    attention: list[np.ndarray] | None  # for each hypothesis (T, S); None if the sentence does not need it


def search(
    engine: Engine,
    sentences: list[Sentence],
    decoding: DecodingConfig,
    options: TranslationOptions,
    tokenizer: Tokenizer,
) -> list[Found]:
    """Search one batch; a worker calls this."""
    found = engine.decode(sentences, decoding, token_scores=options.token_scores)
    if options.mbr:
        found = [_by_consensus(hypotheses, tokenizer) for hypotheses in found]
    attention = _attention(engine, sentences, found, all_are_aligned=options.alignment)
    return [Found(hypotheses, weights) for hypotheses, weights in zip(found, attention, strict=True)]


def _attention(
    engine: Engine, sentences: Sequence[Sentence], found: Sequence[list[Hypothesis]], *, all_are_aligned: bool
) -> list[list[np.ndarray] | None]:
    """For each sentence that needs it, the attention of its hypotheses."""
    are_aligned = [all_are_aligned or sentence.is_aligned for sentence in sentences]
    if not any(are_aligned):
        return [None] * len(sentences)
    # A hypothesis of `max_length` tokens leaves no place for the eos that `attention` appends.
    pairs = [
        (sentence.source, hypothesis.tokens[: engine.max_length - 1])
        for sentence, hypotheses, is_aligned in zip(sentences, found, are_aligned, strict=True)
        for hypothesis in (hypotheses if is_aligned else ())
    ]
    attention = iter(engine.attention(*zip(*pairs, strict=True)))
    return [
        list(islice(attention, len(hypotheses))) if is_aligned else None
        for hypotheses, is_aligned in zip(found, are_aligned, strict=True)
    ]


def _by_consensus(hypotheses: list[Hypothesis], tokenizer: Tokenizer) -> list[Hypothesis]:
    """The hypotheses with their expected chrF as the score, best first."""
    utilities = consensus(tokenizer.decode([each.tokens for each in hypotheses]))
    scored = [dataclasses.replace(each, score=score) for each, score in zip(hypotheses, utilities, strict=True)]
    return sorted(scored, key=lambda each: (not each.finished, -each.score))
