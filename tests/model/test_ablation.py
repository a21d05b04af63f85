"""Heads and sublayers that are switched off, against weights that are zeroed by hand: in one pass, and in a search.

Shapes: B 2, S 5, T 4, D 12, H 3, K 4
"""

import copy

import pytest
import torch
from torch import nn

from seq2seq.config import DecodingConfig, ModelConfig
from seq2seq.decoding.search import decode_ids
from seq2seq.model.ablation import sublayers, without_head, without_layer, without_sublayer
from seq2seq.model.transformer import Transformer

SRC = torch.tensor([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0]])
TGT_IN = torch.tensor([[2, 6, 7, 8], [2, 9, 4, 0]])
SOURCES = [[4, 5, 6, 7], [8, 9], [10, 4, 11]]


def random_model(positions: str = "sinusoidal", n_kv_heads: int = 0, d_value: int = 0) -> Transformer:
    torch.manual_seed(1)
    config = ModelConfig(
        d_model=12,
        n_heads=3,
        d_ff=20,
        n_encoder_layers=2,
        n_decoder_layers=2,
        max_length=16,
        positions=positions,
        n_kv_heads=n_kv_heads,
        d_value=d_value,
    )
    return Transformer(config, vocab_size=13).eval()


def translations(model: Transformer) -> list[list[int]]:
    config = DecodingConfig(beam_size=3, max_length_b=6)
    found = decode_ids(model, SOURCES, config, torch.device("cpu"), max_length=16)
    return [best.tokens for best, *_ in found]


@pytest.mark.parametrize(
    "part", ["encoder.layers.1.self_attention", "decoder.layers.0.self_attention", "decoder.layers.1.cross_attention"]
)
def test_a_head_that_is_off_is_a_head_whose_part_of_the_output_projection_is_zero(part: str) -> None:
    model = random_model()
    by_hand = copy.deepcopy(model)
    by_hand.get_submodule(part).to_out.weight.data[:, 4:8] = 0  # type: ignore[operator, union-attr]
    plain, searched_plainly = model(SRC, TGT_IN), translations(model)
    with without_head(model.get_submodule(part), head=1):  # type: ignore[arg-type]
        off, searched = model(SRC, TGT_IN), translations(model)
    torch.testing.assert_close(off, by_hand(SRC, TGT_IN))
    assert searched == translations(by_hand)
    assert not torch.allclose(off, plain)
    assert torch.equal(model(SRC, TGT_IN), plain) and translations(model) == searched_plainly  # it is on again


@pytest.mark.parametrize("name", ["self_attention", "cross_attention", "feed_forward"])
def test_a_sublayer_that_is_off_adds_nothing(name: str) -> None:
    model = random_model()
    by_hand = copy.deepcopy(model)
    sublayer = sublayers(by_hand.decoder.layers[0])[name]
    for parameter, weight in sublayer.named_parameters():
        if parameter.startswith("to_out."):
            weight.data.zero_()
    with without_sublayer(sublayers(model.decoder.layers[0])[name]):
        torch.testing.assert_close(model(SRC, TGT_IN), by_hand(SRC, TGT_IN))
        assert translations(model) == translations(by_hand)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_pre_norm_model_without_a_layer_is_the_model_that_lacks_it(stack: str) -> None:
    model = random_model(positions="rotary")
    shorter = copy.deepcopy(model)
    part = getattr(shorter, stack)
    part.layers = nn.ModuleList([part.layers[1]])
    with without_layer(getattr(model, stack).layers[0]):
        torch.testing.assert_close(model(SRC, TGT_IN), shorter(SRC, TGT_IN))
        assert translations(model) == translations(shorter)


def test_queries_that_share_keys_are_switched_off_one_by_one() -> None:
    model = random_model(n_kv_heads=1, d_value=5)
    by_hand = copy.deepcopy(model)
    by_hand.encoder.layers[0].self_attention.to_out.weight.data[:, 5:10] = 0
    by_hand.decoder.layers[1].self_attention.to_out.weight.data[:, 10:15] = 0
    with (
        without_head(model.encoder.layers[0].self_attention, 1),
        without_head(model.decoder.layers[1].self_attention, 2),
    ):
        torch.testing.assert_close(model(SRC, TGT_IN), by_hand(SRC, TGT_IN))
        assert translations(model) == translations(by_hand)
