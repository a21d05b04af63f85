"""The engine against the model itself, asked anew for each token."""

import dataclasses
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from seq2seq.config import DecodingConfig
from seq2seq.errors import ConfigError
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines import Engine, Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.vocabulary import BOS, EOS, PAD, UNK
from tests.translation.engines.models import BEAM, GREEDY, SOURCES, TARGETS, random_model
from tests.translation.engines.reference import assert_alike, next_log_probs

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")
SAMPLING = dataclasses.replace(GREEDY, sampling=True, n_best=3)


def model(seed: int = 3, **changes: Any) -> Transformer:
    return random_model(seed=seed, end_bonus=3.0, **changes)


def engine(*models: Transformer, precision: str = "float32") -> PyTorchEngine:
    return PyTorchEngine(models or [model()], CPU, precision)


def sentences() -> list[Sentence]:
    return [Sentence(source, number=i) for i, source in enumerate(SOURCES)]


def mean_probs(models: Sequence[Transformer], source: list[int], tokens: list[int]) -> list[float]:
    """Log-probabilities of the next token, specials left out of the mean of probabilities."""
    with torch.no_grad():
        src, tgt_in = torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *tokens]])
        probs = sum(each(src, tgt_in)[0, -1].double().softmax(-1) for each in models).tolist()
    allowed = range(EOS if tokens else EOS + 1, len(probs))
    total = sum(probs[i] for i in allowed)
    return [math.log(p / total) if i in allowed else -math.inf for i, p in enumerate(probs)]


# --- searches ---


@pytest.mark.parametrize(
    ("norm", "config"),
    [
        ("pre", GREEDY),
        ("post", BEAM),
        ("pre", dataclasses.replace(BEAM, no_repeat_ngram=1, repetition_penalty=1.7, min_length_b=3)),
        ("post", dataclasses.replace(SAMPLING, repetition_penalty=1.3)),
    ],
)
def test_hypotheses_have_the_log_probability_that_the_model_gives_their_tokens(
    norm: str, config: DecodingConfig
) -> None:
    changes = {"norm": norm}
    plain = random_model(seed=3, end_bonus=3.0 if norm == "pre" else 0.0, **changes)
    tested = engine(random_model(seed=3, end_bonus=3.0 if norm == "pre" else 0.0, **changes))
    for source, hypotheses in zip(SOURCES, tested.decode(sentences(), config), strict=True):
        assert len(hypotheses) == config.n_best
        for hypothesis in hypotheses:
            whole = hypothesis.tokens + [EOS] * hypothesis.finished
            steps = [next_log_probs(plain, source, whole[:i], config)[token] for i, token in enumerate(whole)]
            assert hypothesis.log_prob == pytest.approx(sum(steps), abs=1e-4)
            assert hypothesis.score == pytest.approx(sum(steps) / len(whole), abs=1e-4)


def test_an_ensemble_averages_probabilities() -> None:
    plain = [model(3), model(4, d_model=36, n_decoder_layers=1)]
    tested = engine(model(3), model(4, d_model=36, n_decoder_layers=1))
    found = tested.decode(sentences(), BEAM)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        for hypothesis in hypotheses:
            whole = hypothesis.tokens + [EOS] * hypothesis.finished
            steps = [mean_probs(plain, source, whole[:i])[token] for i, token in enumerate(whole)]
            assert hypothesis.log_prob == pytest.approx(sum(steps), abs=1e-4)
            if hypothesis.finished:
                ((*scored,),) = tested.score([source], [hypothesis.tokens])
                assert scored == pytest.approx(steps, abs=1e-4)


def test_models_count_as_much_as_their_weights_say() -> None:
    one, other = engine(model(3)), engine(model(4))
    for weights, expected in (((1.0, 1e-9), one), ((1e-9, 1.0), other)):
        tested = PyTorchEngine([model(3), model(4)], CPU, "float32", weights=weights)
        assert_alike(tested.decode(sentences(), BEAM), expected.decode(sentences(), BEAM))
        pairs = zip(tested.score(SOURCES, TARGETS), expected.score(SOURCES, TARGETS), strict=True)
        assert all(found == pytest.approx(alone, abs=1e-4) for found, alone in pairs)
    weighted = PyTorchEngine([model(3), model(4)], CPU, "float32", weights=(1, 3)).attention(SOURCES, TARGETS)
    for mean, a, b in zip(weighted, *(each.attention(SOURCES, TARGETS) for each in (one, other)), strict=True):
        torch.testing.assert_close(torch.tensor(mean), torch.tensor(a / 4 + 3 * b / 4))


def test_float16_needs_a_gpu() -> None:
    with pytest.raises(ConfigError, match=r"^precision=float16 needs a GPU; on a CPU use precision=bfloat16, .*$"):
        engine(precision="float16")


def test_the_shortest_model_of_an_ensemble_is_the_limit() -> None:
    assert engine(model(max_length=30), model(max_length=21)).max_length == 21


@pytest.mark.parametrize("max_length", [17, 18])
def test_the_last_position_can_be_used_whatever_its_number(max_length: int) -> None:
    tested = engine(model(max_length=max_length))
    source = [7] * (max_length - 1)
    config = dataclasses.replace(BEAM, min_length_b=1000, max_length_b=1000)
    for hypothesis in tested.decode([Sentence(source), Sentence([5])], config)[0]:
        assert len(hypothesis.tokens) == max_length and not hypothesis.finished
    (scores,) = tested.score([source], [source])
    assert len(scores) == max_length and max(scores) < 0
    (weights,) = tested.attention([source], [source])
    assert weights.shape == (max_length - 1, max_length - 1)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_threads_make_no_difference(precision: str) -> None:
    tested: Engine = engine(precision=precision)
    tasks = [(each, config) for each in sentences()[:4] for config in (BEAM, SAMPLING)]
    expected = [tested.decode([sentence], config)[0] for sentence, config in tasks]
    with ThreadPoolExecutor(4, initializer=tested.start_worker) as pool:
        found = list(pool.map(lambda task: tested.decode([task[0]], task[1])[0], tasks))
    assert found == expected


# --- scores ---


def test_scores_are_those_of_each_token_and_of_eos() -> None:
    plain, tested = model(), engine()
    found = tested.score(SOURCES, TARGETS)
    for source, target, scores in zip(SOURCES, TARGETS, found, strict=True):
        expected = [
            next_log_probs(plain, source, target[:i], DecodingConfig())[token] for i, token in enumerate([*target, EOS])
        ]
        assert scores == pytest.approx(expected, abs=1e-4)
        assert tested.score([source], [target])[0] == pytest.approx(expected, abs=1e-4)


def test_what_may_not_be_has_probability_0() -> None:
    tested = engine()
    never = -math.inf
    first, second, third, fourth = tested.score([[5, 6]] * 4, [[], [9, UNK, 8], [BOS, 8], [PAD, EOS, 8]])
    assert first == [never]  # no translation is empty
    assert [score == never for score in second] == [False, True, False, False]
    assert [score == never for score in third] == [True, False, False]
    assert [score == never for score in fourth] == [True, False, False, False]


# --- attention ---


@pytest.mark.parametrize(("n_layers", "layer"), [(1, 0), (2, 0), (3, 1)])
def test_attention_is_the_mean_over_heads_of_the_last_layer_but_one(n_layers: int, layer: int) -> None:
    plain, tested = model(n_decoder_layers=n_layers), engine(model(n_decoder_layers=n_layers))
    found = tested.attention(SOURCES, TARGETS)
    for source, target, weights in zip(SOURCES, TARGETS, found, strict=True):
        assert weights.shape == (len(target), len(source))
        assert (weights >= 0).all() and (weights.sum(-1) <= 1 + 1e-5).all()
        with torch.no_grad():
            cross = plain.attention_weights(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])).cross
        expected = cross[layer][0].mean(0)[: len(target), : len(source)]
        torch.testing.assert_close(torch.tensor(weights), expected, atol=1e-5, rtol=1e-4)
        assert (weights.sum(-1) < 1).all()  # the rest is eos's


def test_bfloat16_attention_is_close() -> None:
    exact, rounded = (engine(precision=precision).attention(SOURCES, TARGETS) for precision in ("float32", "bfloat16"))
    for one, other in zip(exact, rounded, strict=True):
        assert other.dtype == one.dtype
        torch.testing.assert_close(torch.tensor(other), torch.tensor(one), atol=0.03, rtol=0.05)


def test_threads_may_ask_for_attention_while_others_search() -> None:
    tested = engine()
    pairs = list(zip(SOURCES, TARGETS, strict=True)) * 3
    expected = [tested.attention([source], [target])[0] for source, target in pairs]
    translations = tested.decode(sentences(), BEAM)
    with ThreadPoolExecutor(4) as pool:
        searches = [pool.submit(tested.decode, sentences(), BEAM) for _ in range(4)]
        found = list(pool.map(lambda pair: tested.attention([pair[0]], [pair[1]])[0], pairs))
        for search in searches:
            assert search.result() == translations
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other))
