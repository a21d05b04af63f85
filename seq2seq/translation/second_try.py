"""A second search for sentences whose translation repeats itself, or does not end.

A model that does not understand a sentence goes round in circles. The second search reads it without the characters
that the model has no piece for, and writes no sequence of three tokens twice. Its result counts if it is better.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from seq2seq.analysis.loops import find_loop
from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.protocol import Engine, Sentence

# Four would let "ha ha ha ha ha" through, and two is rare only in short sentences ("in the ... in the").
_NO_REPEAT_NGRAM = 3
# A translation that is cut is a long one: where the user allows only a few tokens, another search ends no earlier.
_LEAST_RATIO, _LEAST_TOKENS = 1.5, 20


class SecondTry(NamedTuple):
    """What is taken in place of the first hypotheses, and why."""

    hypotheses: list[Hypothesis]
    reason: str  # what the first translation did


class _Fault(NamedTuple):
    loops: bool
    never_ends: bool
    reason: str


_NO_FAULT = _Fault(False, False, "")


def second_tries(
    engine: Engine,
    sentences: Sequence[Sentence],
    found: Sequence[list[Hypothesis]],
    decoding: DecodingConfig,
    tokenizer: Tokenizer,
    *,
    token_scores: bool,
) -> dict[int, SecondTry]:
    """By their index, the sentences of a batch for which a second search found something better.

    There is none for samples, since they are as they were drawn; where the user has chosen a rule against repetitions;
    and for sentences with a prefix or terms, which may have to repeat.
    """
    if decoding.sampling or decoding.no_repeat_ngram:
        return {}
    translations = tokenizer.decode([hypotheses[0].tokens for hypotheses in found])
    faults = {
        i: _fault(sentence, hypotheses[0], translation, tokenizer)
        for i, (sentence, hypotheses, translation) in enumerate(zip(sentences, found, translations, strict=True))
        if not sentence.prefix and not sentence.required
    }
    doubtful = [i for i, fault in faults.items() if fault != _NO_FAULT]
    if not doubtful:
        return {}
    again = engine.decode(
        [_without_bytes(sentences[i], tokenizer) for i in doubtful],
        dataclasses.replace(decoding, no_repeat_ngram=_NO_REPEAT_NGRAM),
        token_scores=token_scores,
    )
    translations = tokenizer.decode([hypotheses[0].tokens for hypotheses in again])
    better = {}
    for i, hypotheses, translation in zip(doubtful, again, translations, strict=True):
        fault = _fault(sentences[i], hypotheses[0], translation, tokenizer)
        if translation.strip() and (fault.loops, not hypotheses[0].finished) < faults[i][:2]:
            better[i] = SecondTry(hypotheses, faults[i].reason)
    return better


def _fault(sentence: Sentence, hypothesis: Hypothesis, translation: str, tokenizer: Tokenizer) -> _Fault:
    n_tokens = len(hypothesis.tokens)
    never_ends = not hypothesis.finished and n_tokens >= max(_LEAST_TOKENS, _LEAST_RATIO * len(sentence.source))
    loop = find_loop(translation)
    if loop is not None and find_loop(tokenizer.decode([sentence.source])[0]) is None:
        return _Fault(True, never_ends, f"repeated {loop.shown!r} {loop.n_times} times in a row")
    return _Fault(False, True, f"did not end within {n_tokens} tokens") if never_ends else _NO_FAULT


def _without_bytes(sentence: Sentence, tokenizer: Tokenizer) -> Sentence:
    """The sentence without characters that are spelled in bytes, unless it has nothing else."""
    pieces = zip(sentence.source, tokenizer.pieces(sentence.source), strict=True)
    kept = [id_ for id_, piece in pieces if not piece.startswith("<0x")]
    return sentence._replace(source=kept) if tokenizer.decode([kept])[0].strip() else sentence
