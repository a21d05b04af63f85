import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.search import decode_ids, pad_sources, search
from seq2seq.vocabulary import EOS

from . import reference
from .toy import SOURCES, FixedLogits, ToyModel

CPU = torch.device("cpu")

# Derandomised: two hypotheses within float noise of each other would rank either way, once in a great while.
fixed_examples = settings(derandomize=True)
normalizations = st.sampled_from(["none", "length", "gnmt"])
alphas = st.sampled_from([0.0, 0.3, 0.6, 1.0, 1.7])
eos_bonuses = st.sampled_from([-4.0, -1.0, 0.0, 1.0, 3.0, 6.0])


def config(beam_size: int, n_best: int, limit: int, normalization: str, alpha: float) -> DecodingConfig:
    return DecodingConfig(
        beam_size=beam_size,
        n_best=n_best,
        max_length_a=0.0,
        max_length_b=limit,
        normalization=normalization,
        alpha=alpha,
    )


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_ordinary=st.integers(1, 3),
    limit=st.integers(1, 4),
    n_best=st.integers(1, 60),
    normalization=normalizations,
    alpha=alphas,
    eos_bonus=eos_bonuses,
)
@fixed_examples
def test_a_beam_that_holds_everything_finds_the_best_of_all_sequences(
    seed: int, n_ordinary: int, limit: int, n_best: int, normalization: str, alpha: float, eos_bonus: float
) -> None:
    model = ToyModel(seed, n_ids=EOS + 1 + n_ordinary, eos_bonus=eos_bonus)
    beam_size = max(n_best, n_ordinary ** (limit - 1) * (n_ordinary + 1))  # all candidates of the last step
    sources = SOURCES[:2]
    found = search(model, pad_sources(sources, 100), config(beam_size, n_best, limit, normalization, alpha), 100)
    ordinary = range(EOS + 1, model.n_ids)
    for source, hypotheses in zip(sources, found, strict=True):
        next_log_probs = functools.partial(model.next_log_probs, source)
        expected = reference.best_of_all(next_log_probs, ordinary, limit, n_best, normalization, alpha)
        reference.assert_same(hypotheses, expected)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_ids=st.sampled_from([6, 9, 23]),
    beam_size=st.sampled_from([2, 3, 5]),
    data=st.data(),
    normalization=normalizations,
    alpha=alphas,
    eos_bonus=eos_bonuses,
)
@fixed_examples
def test_a_small_beam_finds_what_its_definition_finds(
    seed: int,
    n_ids: int,
    beam_size: int,
    data: st.DataObject,
    normalization: str,
    alpha: float,
    eos_bonus: float,
) -> None:
    n_best = data.draw(st.integers(1, beam_size))
    max_length = data.draw(st.sampled_from([7, 50]))
    model = ToyModel(seed, n_ids, eos_bonus=eos_bonus)
    settings = DecodingConfig(
        beam_size=beam_size,
        n_best=n_best,
        normalization=normalization,
        alpha=alpha,
        max_length_a=1.5,
        max_length_b=3,
    )
    found = search(model, pad_sources(SOURCES, 100), settings, max_length)
    longest = highest_limit = 0
    for source, hypotheses in zip(SOURCES, found, strict=True):
        limit = min(int(1.5 * len(source) + 3), max_length)
        expected, could_stop = reference.beam_search(
            functools.partial(model.next_log_probs, source), limit, beam_size, n_best, normalization, alpha
        )
        reference.assert_same(hypotheses, expected)
        longest, highest_limit = max(longest, could_stop), max(highest_limit, limit)
    assert model.n_announced == highest_limit  # what a cache has to hold
    assert model.n_steps == longest  # neither past the proof that nothing better can come nor before it


@given(seed=st.integers(0, 10**6), beam_size=st.sampled_from([1, 2, 5]), eos_bonus=eos_bonuses)
@fixed_examples
def test_no_special_token_appears_and_no_hypothesis_is_empty_or_too_long(
    seed: int, beam_size: int, eos_bonus: float
) -> None:
    model = ToyModel(seed, n_ids=12, eos_bonus=eos_bonus)
    settings = DecodingConfig(beam_size=beam_size, n_best=beam_size, max_length_a=1.0, max_length_b=2)
    for source, hypotheses in zip(SOURCES, search(model, pad_sources(SOURCES, 100), settings, 6), strict=True):
        limit = min(len(source) + 2, 6)
        for hypothesis in hypotheses:
            assert hypothesis.tokens and min(hypothesis.tokens) > EOS
            n_tokens = len(hypothesis.tokens) + hypothesis.finished
            assert n_tokens <= limit if hypothesis.finished else n_tokens == limit
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / n_tokens)


def test_bfloat16_logits_are_scored_in_float32() -> None:
    model = ToyModel(seed=3, n_ids=8, dtype=torch.bfloat16)
    found = decode_ids(model, SOURCES, DecodingConfig(beam_size=3, n_best=3), CPU, 20)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        for hypothesis in hypotheses:
            whole = hypothesis.tokens + [EOS] * hypothesis.finished
            expected = reference.log_prob_of(functools.partial(model.next_log_probs, source), whole)
            assert hypothesis.log_prob == pytest.approx(expected, abs=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_gpu_finds_the_same(beam_size: int) -> None:
    model = ToyModel(seed=8, n_ids=20, eos_bonus=1.0)
    settings = DecodingConfig(beam_size=beam_size, n_best=beam_size)
    on_cpu = decode_ids(model, SOURCES, settings, CPU, 100)
    on_gpu = decode_ids(model, SOURCES, settings, torch.device("cuda"), 100)
    for one, other in zip(on_cpu, on_gpu, strict=True):
        reference.assert_same(one, other)


@pytest.mark.parametrize("beam_size", [1, 2, 3])
def test_ties_go_to_the_lower_token(beam_size: int) -> None:
    model = FixedLogits([0.0, 0.0, 0.0, -9.0, 1.0, 1.0, 1.0])
    settings = DecodingConfig(beam_size=beam_size, n_best=beam_size, max_length_a=0.0, max_length_b=2)
    (found,) = search(model, pad_sources([[5]], 100), settings, 100)
    assert [h.tokens for h in found] == [[4, 4], [4, 5], [4, 6]][:beam_size]
