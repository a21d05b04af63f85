from collections import Counter
from itertools import chain, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.corpus import decode_batches, decode_ids, plan_batches
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.errors import TranslationError

from .toy import ToyModel, ToyState

CPU = torch.device("cpu")
EMPTY = [Hypothesis([], 0.0, 0.0, True)]


def random_sources(n: int) -> list[list[int]]:
    torch.manual_seed(5)
    return [torch.randint(4, 12, (length,)).tolist() for length in torch.randint(0, 9, (n,)).tolist()]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_batch_size_and_order_change_nothing(beam_size: int) -> None:
    model = ToyModel(seed=2, n_ids=12, eos_bonus=1.0)
    sources = random_sources(40)

    def decode(sources: list[list[int]], batch_tokens: int) -> list[list[Hypothesis]]:
        config = DecodingConfig(beam_size=beam_size, n_best=beam_size, batch_tokens=batch_tokens)
        return decode_ids(model, sources, config, CPU, max_length=100)

    expected = decode(sources, batch_tokens=1)
    assert all(n_sentences == 1 for n_sentences, _ in model.batches)
    assert decode(sources, batch_tokens=100) == expected
    assert decode(sources, batch_tokens=10**6) == expected
    assert decode(sources[::-1], batch_tokens=100) == expected[::-1]


def test_an_empty_source_gives_an_empty_hypothesis_without_the_model() -> None:
    config = DecodingConfig(beam_size=2, n_best=2)
    model = ToyModel(seed=2, n_ids=12)
    assert decode_ids(model, [], config, CPU, 100) == []
    assert decode_ids(model, [[], []], config, CPU, 100) == [EMPTY, EMPTY]
    assert model.batches == []
    found = decode_ids(model, [[], [5], []], config, CPU, 100)
    assert found[0] == found[2] == EMPTY and found[1][0].tokens
    assert model.batches == [(1, 2)]


def test_batches_come_longest_first_and_say_which_sources_they_hold() -> None:
    model = ToyModel(seed=2, n_ids=12)
    sources = random_sources(30)
    config = DecodingConfig(beam_size=2, batch_tokens=60)
    seen = [indices for indices, _ in decode_batches(model, sources, config, CPU, 100)]
    assert sorted(chain.from_iterable(seen)) == list(range(30))
    longest = [longest for _, longest in model.batches]
    assert longest == sorted(longest, reverse=True) and len(longest) > 3


@given(lengths=st.lists(st.integers(0, 40)), batch_tokens=st.integers(1, 400), beam_size=st.integers(1, 5))
def test_batches_hold_every_source_once_within_the_budget(
    lengths: list[int], batch_tokens: int, beam_size: int
) -> None:
    config = DecodingConfig(beam_size=beam_size, batch_tokens=batch_tokens)
    batches = list(plan_batches(lengths, config))
    assert Counter(chain.from_iterable(batches)) == Counter(i for i, n in enumerate(lengths) if n)

    def cost(batch: list[int]) -> int:
        return len(batch) * (max(lengths[i] for i in batch) + 1) * beam_size

    assert all(len(batch) == 1 or cost(batch) <= batch_tokens for batch in batches)
    for batch, following in pairwise(batches):
        assert cost([*batch, following[0]]) > batch_tokens  # no batch could have taken one more


def test_decoding_keeps_no_gradients_and_leaves_the_consumer_in_its_own_mode() -> None:
    modes = []

    class Watched(ToyModel):
        def start(self, src: Tensor, max_length: int) -> ToyState:
            modes.append(torch.is_inference_mode_enabled())
            return super().start(src, max_length)

    for _ in decode_batches(Watched(1, 12), [[4], [5, 6]], DecodingConfig(batch_tokens=1), CPU, 100):
        assert not torch.is_inference_mode_enabled()
    assert modes == [True, True]


def test_sources_that_the_model_cannot_read_are_named_before_any_work() -> None:
    model = ToyModel(seed=2, n_ids=12)
    sources = [[4], [4] * 20, [4] * 30]
    message = "2 of 3 sources are longer than the 19 tokens .* the first is number 2, with 20 tokens"
    with pytest.raises(TranslationError, match=message):
        decode_ids(model, sources, DecodingConfig(), CPU, max_length=20)
    assert model.batches == []
    assert len(decode_ids(model, [[4] * 19], DecodingConfig(), CPU, max_length=20)) == 1
