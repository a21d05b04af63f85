"""Packed products against the plain ones that they replace."""

import copy
import types
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seq2seq.config import DecodingConfig
from seq2seq.decoding.search import pad_sources
from seq2seq.translation.engines import Sentence, pytorch
from seq2seq.translation.engines.pytorch import PackedLinear, PyTorchEngine, join_products, pack
from seq2seq.vocabulary import BOS
from tests.translation.engines.models import random_model
from tests.translation.engines.reference import assert_alike

VARIANTS: list[dict[str, Any]] = [
    {"activation": "relu"},
    {"activation": "gelu", "norm": "post"},
    {"activation": "swish", "output_bias": True},
    {"activation": "swiglu", "embeddings": "separate"},
    {"activation": "relu", "embeddings": "decoder", "positions": "learned"},
    {"activation": "relu", "positions": "rotary"},
    {"n_kv_heads": 1, "bias": True, "d_head": 6, "d_value": 5},
    {"d_encoder": 36, "embeddings": "decoder", "norm_type": "rms"},
]
needs_operators = pytest.mark.skipif(not pytorch._is_available(), reason="this torch is built without oneDNN")


def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    src = pad_sources([torch.randint(4, 310, (n,)).tolist() for n in (9, 3, 1)], 50)
    tgt_in = torch.randint(4, 310, (3, 7))
    tgt_in[:, 0] = BOS
    return src, tgt_in


@needs_operators
@pytest.mark.parametrize("changes", VARIANTS)
@torch.inference_mode()
def test_packing_changes_no_result(changes: dict[str, Any]) -> None:
    model, (src, tgt_in) = random_model(**changes), batch()
    plain = copy.deepcopy(model)
    join_products(model)
    n_linear = sum(isinstance(module, nn.Linear) for module in model.modules())
    n_layers = plain.config.n_encoder_layers + plain.config.n_decoder_layers
    assert n_linear == sum(isinstance(module, nn.Linear) for module in plain.modules()) - 2 * n_layers
    torch.testing.assert_close(model(src, tgt_in), plain(src, tgt_in), atol=1e-5, rtol=1e-5)
    pack(model)
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    assert sum(isinstance(module, PackedLinear) for module in model.modules()) == n_linear > 0
    torch.testing.assert_close(model.encode(src), plain.encode(src), atol=1e-5, rtol=1e-5)
    expected = plain(src, tgt_in)
    torch.testing.assert_close(model(src, tgt_in), expected, atol=1e-5, rtol=1e-5)
    assert expected.std() > 0.1
    state = model.start(src, 7)
    for step in range(7):
        logits, state = model.step(state, tgt_in[:, step : step + 1])
        torch.testing.assert_close(logits[:, 0], expected[:, step], atol=1e-5, rtol=1e-5)


@needs_operators
@torch.inference_mode()
def test_packing_twice_is_packing_once() -> None:
    """As for an ensemble in which a model comes twice."""
    model, (src, tgt_in) = random_model(), batch()
    join_products(model)
    pack(model)
    expected = model(src, tgt_in)
    join_products(model)
    pack(model)
    assert torch.equal(model(src, tgt_in), expected)


@needs_operators
@pytest.mark.parametrize("activation", ["none", "relu"])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("shape", [(5,), (1, 5), (3, 7, 5), (400, 5)])
@torch.inference_mode()
def test_a_packed_product_is_a_linear_layer(shape: tuple[int, ...], with_bias: bool, activation: str) -> None:
    torch.manual_seed(3)
    weight, x = torch.randn(11, 5), torch.randn(shape)
    bias = torch.randn(11) if with_bias else None
    expected = nn.functional.linear(x, weight, bias)
    if activation == "relu":
        assert (expected < -0.1).any()
        expected = expected.relu()
    found = PackedLinear(weight, bias, activation)(x)
    assert found.shape == (*shape[:-1], 11)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("changes", [*VARIANTS[:3], *VARIANTS[-2:]])
def test_a_bfloat16_engine_is_close_to_a_float32_one(changes: dict[str, Any]) -> None:
    sources, targets = [[9, 8, 7, 30], [5]], [[40, 41, 42], [17, 4, 9, 200, 31]]
    exact, rounded = (
        PyTorchEngine([random_model(**changes)], torch.device("cpu"), precision).score(sources, targets)
        for precision in ("float32", "bfloat16")
    )
    for one, other in zip(exact, rounded, strict=True):
        assert other == pytest.approx(one, abs=0.15)
        assert other != one


def lacks_operators() -> Any:
    return types.SimpleNamespace()


def refuses() -> Any:
    def refuse(*arguments: Any) -> None:
        raise RuntimeError("not on this processor")

    return types.SimpleNamespace(_reorder_linear_weight=refuse, _linear_pointwise=refuse)


def takes_other_arguments() -> Any:
    return types.SimpleNamespace(_reorder_linear_weight=lambda weight: weight, _linear_pointwise=lambda x: x)


def computes_something_else() -> Any:
    return types.SimpleNamespace(
        _reorder_linear_weight=lambda weight, rows: weight,
        _linear_pointwise=lambda x, weight, bias, *rest: nn.functional.linear(x, weight, bias),  # forgets the ReLU
    )


@pytest.mark.parametrize("operators", [lacks_operators, refuses, takes_other_arguments, computes_something_else])
def test_without_the_operators_the_model_stays_as_it_is(operators: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config = DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=4)
    sentences = [Sentence([9, 8, 7, 30]), Sentence([5])]
    expected = PyTorchEngine([random_model()], torch.device("cpu"), "float32").decode(sentences, config)
    monkeypatch.setattr(torch.ops, "mkldnn", operators())
    model = random_model()
    found = PyTorchEngine([model], torch.device("cpu"), "float32").decode(sentences, config)
    assert not any(isinstance(module, PackedLinear) for module in model.modules())
    assert_alike(found, expected)
