"""What is drawn, and how often, against probabilities computed by hand."""

import functools
import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.search import decode_ids, pad_sources, search
from seq2seq.vocabulary import EOS

from . import reference
from .toy import SOURCES, FixedLogits, ToyModel

SAMPLING = DecodingConfig(sampling=True, n_best=3, max_length_a=1.5, max_length_b=4)
N = 4000
# Specials and eos look best, and are left out: no hypothesis begins with eos.
LOGITS = [9.0, 9.0, 9.0, 9.0, *(math.log(p) for p in (0.1, 0.4, 0.05, 0.3, 0.15))]


def assert_distributed(counts: Counter[Any], expected: dict[Any, float]) -> None:
    """Pearson's test at one in ten thousand (three standard deviations above the mean would do for many cells)."""
    n = sum(counts.values())
    assert set(counts) <= set(expected)
    chi_squared = sum((counts[key] - n * p) ** 2 / (n * p) for key, p in expected.items())
    degrees = len(expected) - 1
    # Wilson & Hilferty's approximation of the quantile; 3.72 is that of the normal distribution.
    assert chi_squared <= max(1e-9, degrees * (1 - 2 / (9 * degrees) + 3.72 * (2 / (9 * degrees)) ** 0.5) ** 3)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {5: 0.4, 7: 0.3, 8: 0.15, 4: 0.1, 6: 0.05}),
        ({"temperature": 0.5}, {5: 0.16, 7: 0.09, 8: 0.0225, 4: 0.01, 6: 0.0025}),  # squares
        ({"temperature": 2.0}, {i: p**0.5 for i, p in {5: 0.4, 7: 0.3, 8: 0.15, 4: 0.1, 6: 0.05}.items()}),
        ({"top_k": 2}, {5: 0.4, 7: 0.3}),
        ({"top_k": 3}, {5: 0.4, 7: 0.3, 8: 0.15}),
        ({"top_k": 100}, {5: 0.4, 7: 0.3, 8: 0.15, 4: 0.1, 6: 0.05}),
        ({"top_p": 0.6}, {5: 0.4, 7: 0.3}),
        ({"top_p": 0.75}, {5: 0.4, 7: 0.3, 8: 0.15}),
        ({"top_p": 0.99}, {5: 0.4, 7: 0.3, 8: 0.15, 4: 0.1, 6: 0.05}),
        # Of the first three, at this temperature, the first two have 0.25 / 0.2725 = 0.917.
        ({"temperature": 0.5, "top_k": 3, "top_p": 0.9}, {5: 0.16, 7: 0.09}),
        ({"temperature": 0.5, "top_k": 3, "top_p": 0.93}, {5: 0.16, 7: 0.09, 8: 0.0225}),
    ],
)
def test_tokens_are_drawn_as_often_as_they_should(changes: dict[str, Any], expected: dict[int, float]) -> None:
    config = replace(SAMPLING, n_best=N, max_length_a=0.0, max_length_b=1, **changes)
    (found,) = search(FixedLogits(LOGITS), pad_sources([[5]], 100), config, 100)
    counts = Counter(h.tokens[0] for h in found)
    assert len(found) == N
    assert_distributed(counts, {token: p / sum(expected.values()) for token, p in expected.items()})
    # What is drawn changes no score.
    for hypothesis in found[:: N // 50]:
        assert math.exp(hypothesis.log_prob) == pytest.approx(math.exp(LOGITS[hypothesis.tokens[0]]), abs=1e-6)


def test_steps_are_drawn_independently() -> None:
    config = replace(SAMPLING, n_best=N, max_length_a=0.0, max_length_b=2, min_length_b=2)
    (found,) = search(FixedLogits(LOGITS), pad_sources([[5]], 100), config, 100)
    expected = {pair: math.exp(sum(LOGITS[i] for i in pair)) for pair in itertools.product(range(4, 9), repeat=2)}
    assert_distributed(Counter((h.tokens[0], h.tokens[1]) for h in found), expected)


def test_sentences_are_drawn_independently() -> None:
    config = replace(SAMPLING, n_best=1, max_length_a=0.0, max_length_b=1)
    found = search(FixedLogits(LOGITS), pad_sources([[5]] * N, 100), config, 100)
    drawn = [hypothesis.tokens[0] for (hypothesis,) in found]
    expected = {5: 0.4, 7: 0.3, 8: 0.15, 4: 0.1, 6: 0.05}
    assert_distributed(Counter(drawn), expected)
    pairs = Counter(zip(drawn[::2], drawn[1::2], strict=True))  # neighbouring numbers
    assert_distributed(pairs, {(a, b): expected[a] * expected[b] for a in expected for b in expected})


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_best=st.sampled_from([1, 2, 5]),
    changes=st.sampled_from(
        [
            {},
            {"temperature": 0.6, "top_k": 4},
            {"top_p": 0.7},
            {"no_repeat_ngram": 1, "min_length_b": 3},
            {"repetition_penalty": 1.7, "min_length_a": 1.0},
        ]
    ),
    with_prefixes=st.booleans(),
    normalization=st.sampled_from(["none", "length", "gnmt"]),
)
@settings(max_examples=30)
def test_samples_have_the_log_probability_that_the_model_gives_their_tokens(
    seed: int, n_best: int, changes: dict[str, Any], with_prefixes: bool, normalization: str
) -> None:
    model = ToyModel(seed, n_ids=19, eos_bonus=2.0)
    prefixes: list[tuple[int, ...]] = [(7, 7), (), (5,), (6, 4, 9), ()] if with_prefixes else [()] * 5
    config = replace(SAMPLING, n_best=n_best, seed=seed, normalization=normalization, alpha=0.8, **changes)
    found = search(model, pad_sources(SOURCES, 100), config, 50, prefixes)
    n_steps = 0
    for source, prefix, samples in zip(SOURCES, prefixes, found, strict=True):
        limit = max(int(1.5 * len(source) + 4), len(prefix) + 1)
        next_log_probs = reference.constrained(
            functools.partial(model.next_logits, source), config, len(source), prefix
        )
        assert len(samples) == n_best
        assert [(h.finished, h.score) for h in samples] == sorted(
            ((h.finished, h.score) for h in samples), reverse=True
        )
        for hypothesis in samples:
            whole = hypothesis.tokens + [EOS] * hypothesis.finished
            n_steps = max(n_steps, len(whole))
            assert len(whole) <= limit and (hypothesis.finished or len(whole) == limit)
            assert hypothesis.tokens[: len(prefix)] == list(prefix)
            log_prob = reference.log_prob_of(next_log_probs, whole)
            assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-4)
            penalty = reference.penalty(len(whole), normalization, 0.8)
            assert hypothesis.score == pytest.approx(log_prob / penalty, abs=1e-4)
    assert model.n_steps == n_steps


@pytest.mark.parametrize("changes", [{"top_k": 1}, {"temperature": 1e-4}, {"top_p": 1e-6}])
@pytest.mark.parametrize("rules", [{}, {"no_repeat_ngram": 1, "min_length_b": 4, "repetition_penalty": 1.5}])
def test_only_the_most_probable_token_is_greedy(changes: dict[str, Any], rules: dict[str, Any]) -> None:
    model = ToyModel(seed=5, n_ids=14, eos_bonus=1.0)
    src = pad_sources(SOURCES, 100)
    greedy = search(model, src, replace(SAMPLING, sampling=False, beam_size=1, n_best=1, **rules), 50)
    sampled = search(model, src, replace(SAMPLING, **changes, **rules), 50)
    for (expected,), samples in zip(greedy, sampled, strict=True):
        reference.assert_same(samples, [expected] * 3)


def test_a_sample_depends_on_seed_and_number_alone() -> None:
    model = ToyModel(seed=5, n_ids=14, eos_bonus=1.0)
    numbers = [3, 0, 17, 4, 1]
    together = search(model, pad_sources(SOURCES, 100), SAMPLING, 50, numbers=numbers)
    backwards = search(model, pad_sources(SOURCES[::-1], 100), SAMPLING, 50, numbers=numbers[::-1])[::-1]
    longer = [[4] * 20, *SOURCES]  # with more steps to draw for
    after_another = search(model, pad_sources(longer, 100), SAMPLING, 50, numbers=[99, *numbers])[1:]
    alone = [
        search(model, pad_sources([source], 100), SAMPLING, 50, numbers=[number])[0]
        for source, number in zip(SOURCES, numbers, strict=True)
    ]
    assert together == backwards == after_another == alone
    assert search(model, pad_sources(SOURCES, 100), SAMPLING, 50, numbers=range(5)) == search(
        model, pad_sources(SOURCES, 100), SAMPLING, 50
    )


def test_other_numbers_and_other_seeds_give_other_samples() -> None:
    model = ToyModel(seed=5, n_ids=40, eos_bonus=-2.0)
    drawn = set()
    for seed in range(4):
        found = search(model, pad_sources([(4, 5, 6)] * 6, 100), replace(SAMPLING, seed=seed), 50)
        drawn |= {tuple(h.tokens) for samples in found for h in samples}
    assert len(drawn) == 4 * 6 * SAMPLING.n_best


def test_batch_size_and_order_change_no_sample() -> None:
    model = ToyModel(seed=5, n_ids=14, eos_bonus=1.0)
    generator = torch.Generator().manual_seed(2)
    lengths = torch.randint(0, 9, (30,), generator=generator).tolist()
    sources = [torch.randint(4, 12, (length,), generator=generator).tolist() for length in lengths]
    small, large = (
        decode_ids(model, sources, replace(SAMPLING, max_batch_tokens=n), torch.device("cpu"), 100) for n in (1, 10**6)
    )
    assert small == large
