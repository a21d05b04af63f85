"""Heads of any number and width, with biases, over an encoder of another width; and two kinds of norm.

Shapes: B 2, T 5, S 7, D 12, E 8 (width of the encoder), H 4, G 2, K 5, V 3
"""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model import masks
from seq2seq.model.attention import CrossAttention
from seq2seq.model.layers import norm
from seq2seq.model.transformer import Transformer
from seq2seq.model.variants.choice import cross_attention, self_attention

ODD = ModelConfig(
    d_model=12, d_encoder=8, n_heads=4, n_kv_heads=2, d_head=5, d_value=3, bias=True, embeddings="decoder", dropout=0.0
)


def random_parameters(module: nn.Module) -> None:
    """So that nothing hides behind a weight of 1 or a bias of 0."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -1, 1)


def one_head_after_the_other(
    queries: Tensor, keys: Tensor, values: Tensor, out: nn.Linear, mask: Tensor, config: ModelConfig
) -> tuple[Tensor, Tensor]:
    """Outputs (B, T, D) and weights (B, H, T, S).

    It takes projected queries (B, T, H K), keys (B, S, G K) and values (B, S, G V).
    Head i reads keys and values number i G / H, rounded down.
    """
    heads, weights = [], []
    for head in range(config.n_heads):
        group = head // (config.n_heads // config.n_groups)
        q = queries[..., head * config.d_k : (head + 1) * config.d_k]
        k = keys[..., group * config.d_k : (group + 1) * config.d_k]
        v = values[..., group * config.d_v : (group + 1) * config.d_v]
        weights.append((q @ k.mT / config.d_k**0.5 + mask).softmax(-1))
        heads.append(weights[-1] @ v)
    return out(torch.cat(heads, -1)), torch.stack(weights, 1)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 1}, {"n_kv_heads": 4, "bias": False}, {"d_value": 9}], ids=str)
def test_self_attention_is_one_head_after_the_other(changes: dict[str, Any], is_causal: bool) -> None:
    config = replace(ODD, **changes)
    attention = self_attention(config)
    random_parameters(attention)
    x, mask = torch.randn(2, 5, 12), masks.additive(masks.causal(5, torch.device("cpu")))
    queries, keys, values = attention.to_q(x), attention.to_k(x), attention.to_v(x)
    expected, weights = one_head_after_the_other(queries, keys, values, attention.to_out, mask, config)
    torch.testing.assert_close(attention(x, mask, is_causal=is_causal), expected)
    recorded: list[Tensor] = []
    torch.testing.assert_close(attention(x, mask, is_causal=is_causal, weights=recorded), expected)
    torch.testing.assert_close(recorded, [weights])


@pytest.mark.parametrize(
    "changes", [{}, {"n_kv_heads": 1}, {"n_kv_heads": 4, "bias": False}, {"d_encoder": 0}], ids=str
)
def test_cross_attention_is_one_head_after_the_other(changes: dict[str, Any]) -> None:
    config = replace(ODD, **changes)
    attention = cross_attention(config)
    random_parameters(attention)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, config.d_memory)
    is_pad = torch.arange(7) >= torch.tensor([[7], [4]])  # (B, S)
    keys, values = attention.to_k(memory), attention.to_v(memory)
    hidden = masks.additive(~is_pad[:, None, :])
    expected, weights = one_head_after_the_other(attention.to_q(x), keys, values, attention.to_out, hidden, config)
    recorded: list[Tensor] = []
    output = attention(x, attention.keys_values(memory), hidden[:, None], recorded)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(recorded, [weights])


def test_biases_begin_at_0() -> None:
    across = CrossAttention(ModelConfig(d_model=12, n_heads=4, bias=True))
    biases = [parameter for name, parameter in across.named_parameters() if "bias" in name]
    assert len(biases) == 4 and not any(bias.any() for bias in biases)


@pytest.mark.parametrize("changes", [{}, {"d_encoder": 0}, {"n_kv_heads": 0}, {"d_head": 0, "d_value": 0}], ids=str)
def test_weights_are_counted_before_there_is_a_model(changes: dict[str, Any]) -> None:
    config = replace(ODD, n_encoder_layers=1, n_decoder_layers=2, d_ff=20, **changes)
    model = Transformer(config, 31)
    matrices = [p for half in (model.encoder, model.decoder) for p in half.parameters() if p.dim() == 2]
    assert config.n_weights_at_least == sum(matrix.numel() for matrix in matrices)


# --- grouped queries ---


def build(**changes: Any) -> Transformer:
    torch.manual_seed(0)
    config = ModelConfig(d_model=12, n_heads=6, d_ff=20, n_encoder_layers=1, n_decoder_layers=2, dropout=0.0)
    return Transformer(replace(config, **changes), 31)


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_the_cache_shrinks_by_heads_for_each_group(n_groups: int) -> None:
    numbers = []
    for model in (build(), build(n_kv_heads=n_groups)):
        with torch.inference_mode():
            state = model.start(torch.randint(4, 31, (3, 7)), max_length=20)
            model.step(state, torch.randint(4, 31, (3, 1)))
        kept = [*state.memory, *(past._stored or () for past in state.past)]
        numbers.append(sum(tensor.numel() for pair in kept for tensor in pair))
    assert numbers[0] == numbers[1] * 6 / n_groups


# --- an encoder of another width ---


def test_an_encoder_may_be_wider_than_its_decoder() -> None:
    model = build(d_encoder=18, embeddings="decoder", positions="learned")
    src, tgt = torch.randint(4, 31, (3, 7)), torch.randint(4, 31, (3, 5))
    memory = model.encode(src)
    assert memory.shape == (3, 7, 18)
    assert model.decode(tgt, memory, src).shape == (3, 5, 12)
    assert model.embeddings.source.shape == (31, 18)
    assert model.embeddings.target.shape == model.embeddings.output.shape == (31, 12)
    assert model.embeddings.source.std().item() == pytest.approx(18**-0.5, rel=0.1)
    assert model.encoder.layers[0].self_attention.to_q.weight.shape == (18, 18)
    assert model.decoder.layers[0].cross_attention.to_k.weight.shape == (12, 18)
    memory.square().sum().backward()
    assert model.positions.table.grad is not None  # and those of the target are other ones
    assert model.decoder_positions.table.shape == (1024, 12)
    assert model.decoder_positions.table.grad is None


# --- norms ---


@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_norms_follow_their_formulas(eps: float) -> None:
    x = torch.randn(2, 5, 12) + 1
    rms = norm(ModelConfig(d_model=12, n_heads=3, norm_type="rms", norm_eps=eps))
    layer = norm(ModelConfig(d_model=12, n_heads=3, norm_eps=eps))
    random_parameters(rms)
    random_parameters(layer)
    assert isinstance(layer, nn.LayerNorm)
    root = (x.square().mean(-1, keepdim=True) + eps).sqrt()
    torch.testing.assert_close(rms(x), x / root * rms.weight)
    centred = x - x.mean(-1, keepdim=True)
    root = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    torch.testing.assert_close(layer(x), centred / root * layer.weight + layer.bias)


def test_every_norm_is_of_the_kind_that_was_asked_for() -> None:
    model = build(norm_type="rms", norm_eps=1e-6)
    norms = [module for module in model.modules() if isinstance(module, nn.RMSNorm)]
    assert len(norms) == 2 + 2 * 3 + 2  # of the layers, and one behind either half
    assert {module.eps for module in norms} == {1e-6}
    assert not any(isinstance(module, nn.LayerNorm) for module in model.modules())
