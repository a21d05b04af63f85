import functools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.search import pad_sources, search
from seq2seq.errors import ConfigError
from seq2seq.translation.engines.pytorch import Ensemble, mean_logits, shares_of

from . import reference
from .toy import SOURCES, FixedLogits, ToyModel


def test_probabilities_are_averaged_by_hand() -> None:
    one = torch.tensor([[0.2, 0.8], [0.5, 0.5]]).log() + 3.0  # logits: their level says nothing
    other = torch.tensor([[0.6, 0.4], [1.0, 0.0]]).log() - 40.0
    expected = torch.tensor([[0.4, 0.6], [0.75, 0.25]]).log()
    torch.testing.assert_close(mean_logits([one, other], [0.5, 0.5]).log_softmax(-1), expected)
    third = torch.tensor([[0.1, 0.9], [0.0, 1.0]]).log()
    torch.testing.assert_close(
        mean_logits([one, other, third], shares_of([], 3)).softmax(-1)[:, 0], torch.tensor([0.3, 0.5])
    )


def test_bfloat16_models_are_averaged_in_float32() -> None:
    logits = torch.randn(3, 5, 7).bfloat16()
    mean = mean_logits(list(logits), shares_of([], 3))
    assert mean.dtype == torch.float32
    torch.testing.assert_close(mean.softmax(-1), logits.float().softmax(-1).mean(0))


def next_logits(
    models: list[ToyModel], shares: list[float], source: tuple[int, ...], prefix: tuple[int, ...]
) -> list[float]:
    """Logits of the mean over models of the probability of each token, pad, unk and bos among them.

    Logits are logarithms plus any constant. Here it is the mean of the models' own constants.
    """
    probabilities, level = [], 0.0
    for model, share in zip(models, shares, strict=True):
        logits = model.next_logits(source, prefix)
        total = sum(math.exp(logit) for logit in logits)
        probabilities.append([share * math.exp(logit) / total for logit in logits])
        level += share * math.log(total)
    return [math.log(sum(of_token)) + level for of_token in zip(*probabilities, strict=True)]


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    weights=st.sampled_from([(), (3.0, 1.0), (0.2, 0.2, 1.6), (1.0, 1e-9), (1e-30, 1.0)]),
    beam_size=st.sampled_from([1, 2, 4]),
    eos_bonus=st.sampled_from([-2.0, 0.0, 3.0]),
    no_repeat_ngram=st.sampled_from([0, 2]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
)
@settings(max_examples=20)
def test_a_search_asks_the_averaged_distribution(
    seed: int,
    weights: tuple[float, ...],
    beam_size: int,
    eos_bonus: float,
    no_repeat_ngram: int,
    repetition_penalty: float,
) -> None:
    n_models = len(weights) or 3
    shares = [weight / sum(weights) for weight in weights] or [1 / 3] * 3
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
    found = search(Ensemble(models, weights), pad_sources(SOURCES, 100), config, 50)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        logits_after = functools.cache(functools.partial(next_logits, models, shares, source))
        next_log_probs = reference.constrained(logits_after, config, len(source))
        if beam_size == 1:
            expected = [reference.greedy_search(next_log_probs, len(source) + 4, "length", 1.0)]
        else:
            expected, _ = reference.beam_search(next_log_probs, len(source) + 4, beam_size, beam_size, "length", 1.0)
        reference.assert_same(hypotheses, expected)
    assert len({model.n_steps for model in models}) == 1 and models[0].n_steps > 1
    assert {model.n_announced for model in models} == {9}


def test_a_model_has_its_own_logits_together_with_itself() -> None:
    logits = torch.randn(3, 5, 7) * 4 - 9
    torch.testing.assert_close(mean_logits([logits, logits], shares_of([], 2)), logits)
    torch.testing.assert_close(mean_logits([logits] * 3, shares_of([1, 5, 2], 3)), logits)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "1 weights for 2 models; give one for each"),
        ([1.0, 0.0], r"weight 0\.0 of a model is not a number above 0"),
        ([-1.0, -1.0], r"weight -1\.0 of a model"),
        ([1.0, math.nan], "weight .* of a model"),
        ([1.0, math.inf], "weight .* of a model"),
        ([1e-320, 1e10], "weight 1e-320 of a model"),
    ],
)
def test_weights_that_cannot_work_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Ensemble([FixedLogits([0.0]), FixedLogits([0.0])], weights)


def test_a_token_that_one_model_rules_out_keeps_half_its_probability() -> None:
    never = -math.inf
    models = [FixedLogits([never] * 4 + [0.0, never, 0.0]), FixedLogits([never] * 4 + [0.0, 0.0, never])]
    config = DecodingConfig(beam_size=3, n_best=3, max_length_a=0.0, max_length_b=1)
    (found,) = search(Ensemble(models), pad_sources([[5]], 100), config, 50)
    assert [h.tokens for h in found] == [[4], [5], [6]]
    assert [math.exp(h.log_prob) for h in found] == pytest.approx([0.5, 0.25, 0.25])
