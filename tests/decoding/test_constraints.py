"""What may come next: searches with rules against the same searches written from their definitions."""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis
from seq2seq.decoding.constraints import Constraints, forbid_repetition, forbid_special, penalize_repetition
from seq2seq.decoding.search import pad_sources, search
from seq2seq.vocabulary import EOS

from . import reference
from .toy import SOURCES, ToyModel

PREFIXES: tuple[tuple[int, ...], ...] = ((7,), (), (5, 5, 5, 5), (8, 4), ())
NEVER = -math.inf

fixed_examples = settings(derandomize=True)
rules = st.fixed_dictionaries(
    {
        "min_length_a": st.sampled_from([0.0, 0.5, 1.2]),
        "min_length_b": st.sampled_from([0, 2, 4]),
        "no_repeat_ngram": st.sampled_from([0, 1, 2, 3]),
        "repetition_penalty": st.sampled_from([1.0, 1.3, 2.5, 0.6]),
    }
)
# Real sentences seldom have every rule at work: half of the examples have one of them alone.
single_rules = st.sampled_from(
    [
        {"min_length_a": 1.2, "min_length_b": 2},
        {"no_repeat_ngram": 1},
        {"no_repeat_ngram": 2},
        {"no_repeat_ngram": 3},
        {"repetition_penalty": 1.8},
        {},
    ]
)


def limit_of(source: Sequence[int], prefix: Sequence[int], config: DecodingConfig, max_length: int = 50) -> int:
    return min(max(int(config.max_length_a * len(source) + config.max_length_b), len(prefix) + 1), max_length)


def distribution(
    model: ToyModel, source: tuple[int, ...], prefix: Sequence[int], config: DecodingConfig
) -> reference.NextLogProbs:
    return reference.constrained(functools.partial(model.next_logits, source), config, len(source), prefix)


def begins_with(hypothesis: Hypothesis, prefix: Sequence[int]) -> bool:
    return hypothesis.tokens[: len(prefix)] == list(prefix)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_ids=st.sampled_from([13, 23]),
    beam_size=st.sampled_from([1, 2, 3, 5]),
    changes=rules | single_rules,
    with_prefixes=st.booleans(),
    eos_bonus=st.sampled_from([-2.0, 0.0, 2.0, 5.0]),
    normalization=st.sampled_from(["none", "length", "gnmt"]),
)
@fixed_examples
def test_a_search_with_rules_finds_what_its_definition_finds(
    seed: int,
    n_ids: int,
    beam_size: int,
    changes: dict[str, Any],
    with_prefixes: bool,
    eos_bonus: float,
    normalization: str,
) -> None:
    model = ToyModel(seed, n_ids, eos_bonus=eos_bonus)
    config = DecodingConfig(
        beam_size=beam_size, n_best=beam_size, normalization=normalization, alpha=0.8, max_length_a=1.2, max_length_b=3
    )
    config = replace(config, **changes)
    prefixes = PREFIXES if with_prefixes else [()] * len(SOURCES)
    found = search(model, pad_sources(SOURCES, 100), config, 50, PREFIXES if with_prefixes else None)
    longest = 0
    for source, prefix, hypotheses in zip(SOURCES, prefixes, found, strict=True):
        next_log_probs = distribution(model, source, prefix, config)
        limit = limit_of(source, prefix, config)
        if beam_size == 1:
            expected = [reference.greedy_search(next_log_probs, limit, normalization, 0.8)]
            stop = len(expected[0].tokens) + expected[0].finished
        else:
            expected, stop = reference.beam_search(next_log_probs, limit, beam_size, beam_size, normalization, 0.8)
        reference.assert_same(hypotheses, expected)
        longest = max(longest, stop)
    assert model.n_steps == longest


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    limit=st.integers(1, 5),
    prefix=st.lists(st.integers(EOS + 1, EOS + 2), max_size=6),
    changes=st.just({}) | rules.map(lambda changes: changes | {"no_repeat_ngram": 0}),
    eos_bonus=st.sampled_from([-2.0, 0.0, 2.0]),
)
@fixed_examples
def test_a_beam_that_holds_everything_finds_the_best_of_all_sequences_with_the_prefix(
    seed: int, limit: int, prefix: list[int], changes: dict[str, Any], eos_bonus: float
) -> None:
    model = ToyModel(seed, n_ids=EOS + 3, eos_bonus=eos_bonus)
    config = DecodingConfig(beam_size=200, n_best=200, max_length_a=0.0, max_length_b=limit, alpha=0.7)
    config = replace(config, **changes)
    sources, prefixes = SOURCES[:3], [prefix, [], prefix[:1]]
    found = search(model, pad_sources(sources, 100), config, 100, prefixes)
    for source, source_prefix, hypotheses in zip(sources, prefixes, found, strict=True):
        next_log_probs = distribution(model, source, source_prefix, config)
        most = limit_of(source, source_prefix, config)
        expected = reference.best_of_all(next_log_probs, [EOS + 1, EOS + 2], most, 200, "length", 0.7)
        assert expected and all(begins_with(hypothesis, source_prefix) for hypothesis in expected)
        reference.assert_same(hypotheses, expected)


def test_repeated_tokens_are_penalised_once_whatever_the_sign() -> None:
    """Keskar et al. 2019, by hand: a penalty of 2 halves what is positive and doubles what is negative."""
    logits = torch.tensor([[[0.0, 0.0, 0.0, 3.0, 4.0, -4.0, 1.0, 0.0], [9.0, 9.0, 9.0, -3.0, 4.0, -4.0, 1.0, 5.0]]])
    penalize_repetition(logits, torch.tensor([[[4, 5, 4], [7, 7, 7]]]), 2.0)
    assert logits.tolist() == [[[0, 0, 0, 3, 2, -8, 1, 0], [9, 9, 9, -3, 4, -4, 1, 2.5]]]


def test_ngrams_are_forbidden_by_hand() -> None:
    tokens = torch.tensor([[[4, 5, 4, 6, 4], [5, 5, 5, 5, 5]], [[4, 5, 6, 4, 5], [6, 7, 6, 7, 4]]])
    for n, expected in (
        (1, [[{4, 5, 6}, {5}], [{4, 5, 6}, {4, 6, 7}]]),
        (2, [[{5, 6}, {5}], [{6}, set()]]),
        (3, [[set(), {5}], [{6}, set()]]),
        (5, [[set(), {5}], [set(), set()]]),
        (6, [[set(), set()], [set(), set()]]),
    ):
        logits = torch.zeros(2, 2, 8)
        forbid_repetition(logits, tokens, n)
        found = [[{i for i, x in enumerate(ids) if x == NEVER} for ids in row] for row in logits.tolist()]
        assert found == expected, n


def test_special_tokens_are_forbidden_and_eos_where_it_may_not_be() -> None:
    for may_end, expected in ((True, [NEVER] * 3 + [1.0] * 3), (False, [NEVER] * 4 + [1.0] * 2)):
        logits = torch.ones(2, 6)
        forbid_special(logits, may_end)
        assert logits.tolist() == [expected] * 2


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_prefix_as_long_as_the_model_writes_is_all_there_is(beam_size: int) -> None:
    config = DecodingConfig(beam_size=beam_size, max_length_a=0.0, max_length_b=2)
    prefix = [5, 6, 7, 8, 9]
    found = search(ToyModel(3, 12), pad_sources(SOURCES[:2], 100), config, 6, [prefix, []])
    (long,), (short,) = found
    assert begins_with(long, prefix) and len(long.tokens) + long.finished == 6
    assert len(short.tokens) + short.finished <= 2


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 2, 5])
@pytest.mark.parametrize("n_rows", [1, 7, 80])
def test_rules_and_prefixes_of_other_sentences_make_no_difference(
    beam_size: int, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor how many of them go through the processor's cache at a time."""
    monkeypatch.setattr("seq2seq.decoding.beam.CACHED_ROWS", n_rows)
    model = ToyModel(seed=8, n_ids=20, eos_bonus=2.0)
    config = DecodingConfig(
        beam_size=beam_size, n_best=beam_size, min_length_a=0.9, no_repeat_ngram=2, repetition_penalty=1.4
    )
    together = search(model, pad_sources(SOURCES, 100), config, 100, PREFIXES)
    backwards = search(model, pad_sources(SOURCES[::-1], 100), config, 100, PREFIXES[::-1])[::-1]
    alone = [
        search(model, pad_sources([source], 100), config, 100, [prefix])[0]
        for source, prefix in zip(SOURCES, PREFIXES, strict=True)
    ]
    assert together == backwards == alone


def test_rules_follow_their_sentences_when_a_batch_shrinks() -> None:
    sources = [[5] * n for n in (1, 2, 3, 4, 5)]
    config = DecodingConfig(max_length_a=2.0, max_length_b=1, min_length_a=1.0, min_length_b=1)
    constraints = Constraints(pad_sources(sources, 100), config, 9, [[], [7], [8, 9], [], [4]])
    assert constraints.limits.tolist() == [3, 5, 7, 9, 9]
    assert constraints.min_lengths.tolist() == [2, 3, 4, 5, 6]
    constraints.select(torch.tensor([1, 2, 4]))
    assert constraints.limits.tolist() == [5, 7, 9]
    assert constraints.min_lengths.tolist() == [3, 4, 6]
    first, second = constraints.forced(0), constraints.forced(1, slice(1, 3))
    assert first is not None and first.tolist() == [[7], [8], [4]]
    assert second is not None and second.tolist() == [[9], [0]]
    assert constraints.forced(2) is None
