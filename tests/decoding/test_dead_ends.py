"""Hypotheses that no token may follow: they are cut there, and nothing in them is a special token or not a number."""

import functools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis
from seq2seq.decoding.search import pad_sources, search
from seq2seq.vocabulary import EOS, UNK

from . import reference
from .toy import SOURCES, FixedLogits, ToyModel

GREEDY = {"beam_size": 1}
BEAM = {"beam_size": 3, "n_best": 3}
SAMPLING = {"sampling": True, "n_best": 3}
NEVER = -math.inf
rules = st.fixed_dictionaries(
    {"no_repeat_ngram": st.integers(1, 2), "min_length_b": st.integers(0, 9), "repetition_penalty": st.just(1.2)}
)


def assert_sound(hypotheses: list[Hypothesis]) -> None:
    assert hypotheses
    for hypothesis in hypotheses:
        assert math.isfinite(hypothesis.log_prob) and math.isfinite(hypothesis.score)
        assert all(token > EOS for token in hypothesis.tokens)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_ordinary=st.integers(1, 4),
    beam_size=st.integers(1, 4),
    changes=rules,
    eos_bonus=st.sampled_from([-3.0, 0.0, 3.0]),
    prefix=st.sampled_from([(), (4, 4, 4)]),
)
def test_a_search_in_a_tiny_vocabulary_finds_what_its_definition_finds(
    seed: int, n_ordinary: int, beam_size: int, changes: dict[str, Any], eos_bonus: float, prefix: tuple[int, ...]
) -> None:
    model = ToyModel(seed, EOS + 1 + n_ordinary, eos_bonus=eos_bonus)
    config = DecodingConfig(beam_size=beam_size, n_best=beam_size, max_length_a=1.0, max_length_b=9, alpha=0.8)
    config = replace(config, **changes)
    found = search(model, pad_sources(SOURCES, 100), config, 50, [prefix] * len(SOURCES))
    for source, hypotheses in zip(SOURCES, found, strict=True):
        next_logits = functools.partial(model.next_logits, source)
        next_log_probs = reference.constrained(next_logits, config, len(source), prefix)
        limit = len(source) + 9
        if beam_size == 1:
            expected = [reference.greedy_search(next_log_probs, limit, "length", 0.8)]
        else:
            expected, _ = reference.beam_search(next_log_probs, limit, beam_size, beam_size, "length", 0.8)
        reference.assert_same(hypotheses, expected)
        assert_sound(hypotheses)


@given(seed=st.integers(0, 10**6), n_ordinary=st.integers(1, 3), changes=rules, top_k=st.integers(0, 2))
def test_samples_in_a_tiny_vocabulary_are_cut_where_nothing_may_follow(
    seed: int, n_ordinary: int, changes: dict[str, Any], top_k: int
) -> None:
    model = ToyModel(seed, EOS + 1 + n_ordinary)
    config = replace(DecodingConfig(sampling=True, n_best=4, top_k=top_k, seed=seed), **changes)
    for source, samples in zip(SOURCES, search(model, pad_sources(SOURCES, 100), config, 50), strict=True):
        next_logits = functools.partial(model.next_logits, source)
        next_log_probs = reference.constrained(next_logits, config, len(source))
        assert_sound(samples)
        for sample in samples:
            whole = sample.tokens + [EOS] * sample.finished
            assert sample.log_prob == pytest.approx(reference.log_prob_of(next_log_probs, whole), abs=1e-4)
            is_at_limit = len(whole) == int(1.5 * len(source) + 10)
            assert sample.finished or is_at_limit or not next_log_probs(tuple(sample.tokens))


def test_what_nothing_may_follow_is_left_out_if_another_ends() -> None:
    """By hand: 5 may only be followed by the end, and 4 by nothing."""

    class Fork(FixedLogits):
        def step(self, state: None, tokens: torch.Tensor) -> tuple[torch.Tensor, None]:
            logits = torch.full((*tokens.shape, 6), NEVER)
            logits[..., 4] = torch.where(tokens < EOS, 2.0, NEVER)
            logits[..., 5] = torch.where(tokens < EOS, 1.0, NEVER)
            logits[..., EOS] = torch.where(tokens == 5, 0.0, NEVER)
            return logits, None

    src = pad_sources([[4]], 100)
    (found,) = search(Fork([]), src, DecodingConfig(beam_size=2, n_best=2), 100)
    first = [math.log(math.exp(x) / (math.exp(2) + math.exp(1))) for x in (2, 1)]
    reference.assert_same(found, [Hypothesis([5], first[1], first[1] / 2, True)])
    ((greedy,),) = search(Fork([]), src, DecodingConfig(beam_size=1), 100)
    reference.assert_same([greedy], [Hypothesis([4], first[0], first[0], False)])


@pytest.mark.parametrize("changes", [GREEDY, BEAM, SAMPLING])
@pytest.mark.parametrize("logit", [float("nan"), NEVER, math.inf])
def test_a_model_without_a_distribution_gives_nothing(changes: dict[str, Any], logit: float) -> None:
    found = search(FixedLogits([logit] * 9), pad_sources(SOURCES, 100), DecodingConfig(**changes), 9)
    for hypotheses in found:
        assert set(map(str, hypotheses)) == {str(Hypothesis([], 0.0, 0.0, False))}


@pytest.mark.parametrize("changes", [GREEDY, BEAM, SAMPLING])
def test_a_prefix_that_cannot_be_is_not_written(changes: dict[str, Any]) -> None:
    found = search(ToyModel(3, 12), pad_sources(SOURCES[:2], 100), DecodingConfig(**changes), 50, [(5, UNK, 5), ()])
    for hypotheses in found:
        assert_sound(hypotheses)
    assert {(tuple(each.tokens), each.finished) for each in found[0]} == {((5,), False)}
