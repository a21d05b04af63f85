import pytest
import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis
from seq2seq.decoding.search import decode_ids, pad_sources
from seq2seq.vocabulary import EOS, PAD

from .toy import ToyModel, ToyState

CPU = torch.device("cpu")
EMPTY = [Hypothesis([], 0.0, 0.0, True)]


def random_sources(n: int) -> list[list[int]]:
    torch.manual_seed(5)
    return [torch.randint(4, 12, (length,)).tolist() for length in torch.randint(0, 9, (n,)).tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 3])
def test_batch_size_and_order_change_nothing(beam_size: int) -> None:
    model = ToyModel(seed=2, n_ids=12, eos_bonus=1.0)
    sources = random_sources(40)

    def decode(sources: list[list[int]], max_batch_tokens: int) -> list[list[Hypothesis]]:
        config = DecodingConfig(beam_size=beam_size, n_best=beam_size, max_batch_tokens=max_batch_tokens)
        return decode_ids(model, sources, config, CPU, max_length=100)

    expected = decode(sources, max_batch_tokens=1)
    assert all(n_sentences == 1 for n_sentences, _ in model.batches)
    assert decode(sources, max_batch_tokens=100) == expected
    assert decode(sources, max_batch_tokens=10**6) == expected
    assert decode(sources[::-1], max_batch_tokens=100) == expected[::-1]


def test_an_empty_source_gives_an_empty_hypothesis_without_the_model() -> None:
    config = DecodingConfig(beam_size=2, n_best=2)
    model = ToyModel(seed=2, n_ids=12)
    assert decode_ids(model, [], config, CPU, 100) == []
    assert decode_ids(model, [[], []], config, CPU, 100) == [EMPTY, EMPTY]
    assert model.batches == []
    found = decode_ids(model, [[], [5], []], config, CPU, 100)
    assert found[0] == found[2] == EMPTY and found[1][0].tokens
    assert model.batches == [(1, 4)]


def test_batches_come_longest_first_in_widths_of_four() -> None:
    model = ToyModel(seed=2, n_ids=12)
    decode_ids(model, random_sources(30), DecodingConfig(beam_size=2, max_batch_tokens=60), CPU, 100)
    widths = [width for _, width in model.batches]
    assert widths == sorted(widths, reverse=True) and len(widths) > 3
    assert all(width % 4 == 0 for width in widths)


def test_widths_are_few() -> None:
    widths = [pad_sources([[5] * n_tokens], max_length=100).size(1) for n_tokens in (3, 4, 15, 16, 24)]
    assert widths == [4, 8, 16, 24, 32]


def test_no_source_is_padded_beyond_what_the_model_reads() -> None:
    assert pad_sources([[5] * 9], max_length=10).shape == (1, 10)
    assert pad_sources([[5] * 9], max_length=11).shape == (1, 11)
    assert pad_sources([[5] * 9, [6]], max_length=50).tolist() == [
        [5, 5, 5, 5, 5, 5, 5, 5, 5, EOS, PAD, PAD],
        [6, EOS, *[PAD] * 10],
    ]


def test_decoding_keeps_no_gradients_and_leaves_the_consumer_in_its_own_mode() -> None:
    modes = []

    class Watched(ToyModel):
        def start(self, src: Tensor, max_length: int) -> ToyState:
            modes.append(torch.is_inference_mode_enabled())
            return super().start(src, max_length)

    decode_ids(Watched(1, 12), [[4], [5, 6]], DecodingConfig(max_batch_tokens=1), CPU, 100)
    assert not torch.is_inference_mode_enabled()
    assert modes == [True, True]
