import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from seq2seq.config import ModelConfig
from seq2seq.model import masks
from seq2seq.model.attention import SelfAttention
from seq2seq.model.recording import recorded_weights
from seq2seq.model.transformer import Transformer

SMALL = ModelConfig(d_model=12, n_heads=3)
MASK = masks.additive(torch.ones(7, 7, dtype=torch.bool))


def model() -> Transformer:
    torch.manual_seed(0)
    config = ModelConfig(d_model=12, n_heads=3, d_ff=24, n_encoder_layers=1, n_decoder_layers=2, dropout=0.0)
    return Transformer(config, 20)


def test_recording_ends_with_its_block() -> None:
    module = SelfAttention(SMALL)
    x = torch.randn(2, 7, 12)
    with pytest.raises(RuntimeError), recorded_weights() as recorded:
        raise RuntimeError
    module(x, MASK)
    assert not recorded


def test_a_recording_inside_another_has_all_calls_until_it_ends() -> None:
    first, second, third = (SelfAttention(SMALL) for _ in range(3))
    x = torch.randn(2, 7, 12)
    with recorded_weights() as outer:
        first(x, MASK)
        with recorded_weights() as inner:
            second(x, MASK)
        third(x, MASK)
    assert list(outer) == [first, third]
    assert list(inner) == [second]


def test_a_recording_has_its_own_threads_weights_only() -> None:
    tested = model()
    src, tgt_in = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9]])
    with torch.no_grad(), recorded_weights() as recorded:
        other = threading.Thread(target=tested, args=(src, tgt_in))
        other.start()
        other.join()
        assert not recorded
        tested(src, tgt_in)
        assert recorded


def test_threads_record_at_the_same_time() -> None:
    module = SelfAttention(SMALL)
    sentences = torch.randn(2, 1, 7, 12)
    both_are_open = threading.Barrier(2, timeout=60)

    def weights_of(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), recorded_weights() as recorded:
            both_are_open.wait()
            module(x, MASK)
            both_are_open.wait()
        return recorded[module]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(weights_of, sentences))
    with torch.no_grad(), recorded_weights() as recorded:
        for x, weights in zip(sentences, found, strict=True):
            module(x, MASK)
            assert torch.equal(weights, recorded[module])


@pytest.mark.slow  # importing the compiler takes most of it
@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace:UserWarning")
@torch.no_grad()
def test_compiled_attention_records_like_any_other() -> None:
    module = SelfAttention(SMALL)
    x, longer = torch.randn(2, 7, 12), torch.randn(2, 9, 12)
    with recorded_weights() as expected:
        module(x, MASK)
    module.compile(backend="eager", dynamic=True)
    module(x, MASK)  # compiled without a recording
    with recorded_weights() as recorded:
        module(x, MASK)
    torch.testing.assert_close(recorded[module], expected[module])
    module(x, MASK)
    with recorded_weights() as recorded:
        module(longer, masks.additive(torch.ones(9, 9, dtype=torch.bool)))
    assert recorded[module].shape == (2, 3, 9, 9)
