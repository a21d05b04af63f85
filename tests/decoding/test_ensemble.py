import functools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.ensemble import Ensemble, mean_log_probs
from seq2seq.decoding.search import search
from seq2seq.decoding.sentences import pad_sources

from . import reference
from .toy import FixedLogits, ToyModel

SOURCES = ((4, 5, 6), (5,), (6, 6, 4, 5, 4), (4, 4), (5, 4, 6))


def test_probabilities_are_averaged_by_hand() -> None:
    one = torch.tensor([[0.2, 0.8], [0.5, 0.5]]).log() + 3.0  # logits: their level says nothing
    other = torch.tensor([[0.6, 0.4], [1.0, 0.0]]).log() - 40.0
    expected = torch.tensor([[0.4, 0.6], [0.75, 0.25]]).log()
    torch.testing.assert_close(mean_log_probs([one, other]), expected)
    third = torch.tensor([[0.1, 0.9], [0.0, 1.0]]).log()
    torch.testing.assert_close(mean_log_probs([one, other, third]).exp()[:, 0], torch.tensor([0.3, 0.5]))


def test_bfloat16_models_are_averaged_in_float32() -> None:
    logits = torch.randn(3, 5, 7).bfloat16()
    mean = mean_log_probs(list(logits))
    assert mean.dtype == torch.float32
    torch.testing.assert_close(mean.exp(), logits.float().softmax(-1).mean(0))


def next_logits(models: list[ToyModel], source: tuple[int, ...], prefix: tuple[int, ...]) -> list[float]:
    """Logarithms of the mean over models of the probability of each token, pad, unk and bos among them."""
    totals = []
    for model in models:
        weights = [math.exp(logit) for logit in model.next_logits(source, prefix)]
        totals.append([weight / sum(weights) for weight in weights])
    return [math.log(sum(probabilities) / len(models)) for probabilities in zip(*totals, strict=True)]


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_models=st.integers(2, 3),
    beam_size=st.sampled_from([1, 2, 4]),
    eos_bonus=st.sampled_from([-2.0, 0.0, 3.0]),
    no_repeat_ngram=st.sampled_from([0, 2]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_a_search_asks_the_averaged_distribution(
    seed: int, n_models: int, beam_size: int, eos_bonus: float, no_repeat_ngram: int, repetition_penalty: float
) -> None:
    # Of other scales and other ends, so that a mean of logits would not do, nor one model instead of another.
    models = [
        ToyModel(seed + i, n_ids=17, scale=2.0 + 2 * i, eos_bonus=eos_bonus - i, special_bonus=0.0)
        for i in range(n_models)
    ]
    config = DecodingConfig(
        beam_size=beam_size,
        n_best=beam_size,
        max_length_a=1.0,
        max_length_b=4,
        no_repeat_ngram=no_repeat_ngram,
        repetition_penalty=repetition_penalty,
    )
    found = search(Ensemble(models), pad_sources(SOURCES, 100), config, 50)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        logits_after = functools.cache(functools.partial(next_logits, models, source))
        next_log_probs = reference.constrained(logits_after, config, len(source))
        if beam_size == 1:
            expected = [reference.greedy_search(next_log_probs, len(source) + 4, "length", 1.0)]
        else:
            expected, _ = reference.beam_search(next_log_probs, len(source) + 4, beam_size, beam_size, "length", 1.0)
        reference.assert_same(hypotheses, expected)
    assert len({model.n_steps for model in models}) == 1 and models[0].n_steps > 1
    assert {model.n_announced for model in models} == {9}


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("sampling", [False, True])
def test_a_model_twice_is_that_model(beam_size: int, sampling: bool) -> None:
    config = DecodingConfig(beam_size=beam_size, n_best=beam_size, sampling=sampling)
    src = pad_sources(SOURCES, 100)

    def model() -> ToyModel:
        return ToyModel(seed=4, n_ids=15, eos_bonus=1.0, special_bonus=0.0)

    once, twice = search(model(), src, config, 50), search(Ensemble([model(), model()]), src, config, 50)
    for one, other in zip(twice, once, strict=True):
        reference.assert_same(one, other)


def test_a_token_that_one_model_rules_out_keeps_half_its_probability() -> None:
    never = -math.inf
    models = [FixedLogits([never] * 4 + [0.0, never, 0.0]), FixedLogits([never] * 4 + [0.0, 0.0, never])]
    config = DecodingConfig(beam_size=3, n_best=3, max_length_a=0.0, max_length_b=1)
    (found,) = search(Ensemble(models), pad_sources([[5]], 100), config, 50)
    assert [h.tokens for h in found] == [[4], [5], [6]]
    assert [math.exp(h.log_prob) for h in found] == pytest.approx([0.5, 0.25, 0.25])
