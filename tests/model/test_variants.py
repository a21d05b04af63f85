"""Whole models with each variant of attention, against the definition of the variant and against themselves.

Shapes: B 3, S 7, T 5, D 12, H 3, K 4, V 31
"""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.attention import CrossAttention, SelfAttention
from seq2seq.model.transformer import AttentionWeights, Transformer
from seq2seq.model.variants import self_attention
from seq2seq.vocabulary import PAD
from tests.model.test_transformer import batch

pytestmark = pytest.mark.slow

TINY = ModelConfig(d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=2, dropout=0.0, max_length=70)
VARIANTS: list[dict[str, Any]] = [
    {"attention": "unscaled", "norm": "post"},
    {"attention": "scaled", "temperature": 0.4, "positions": "rotary"},
    {"attention": "additive"},
    {"attention": "additive", "positions": "rotary", "temperature": 1.5},
    {"hard_attention": True},
    {"attention": "additive", "hard_attention": True, "window": 2},
    {"window": 1},
    {"window": 2, "positions": "rotary", "attention": "unscaled"},
    {"stride": 3},
    {"stride": 2, "positions": "rotary", "hard_attention": True},
    {"positions": "none"},
    {"attention": "additive", "n_kv_heads": 1, "d_value": 6},
    {"hard_attention": True, "n_kv_heads": 1, "d_head": 6},
    {"window": 2, "attention": "unscaled", "n_kv_heads": 1, "d_value": 6},
]


# Long sequences within a window go another way than short ones. Here, short ones go both.
WAYS = [(variant, way) for variant in VARIANTS for way in ("mask", *(["blocks"] if "window" in variant else []))]


def name_of(case: tuple[dict[str, Any], str]) -> str:
    return "-".join([f"{key}={value}" for key, value in case[0].items()] + [case[1]])


@pytest.fixture(params=WAYS, ids=name_of)
def variant(request, monkeypatch) -> dict[str, Any]:
    keys, way = request.param
    if way == "blocks":
        monkeypatch.setattr(self_attention, "SHORT", 0)
    return keys


def build(**changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(replace(TINY, **changes), 31)


def attends(config: ModelConfig, t: int, s: int) -> bool:
    """Whether token t may attend to token s of its own sequence, without masks for padding and the future."""
    if config.window:
        return abs(t - s) <= config.window
    if config.stride:
        return abs(t - s) < config.stride or (t - s) % config.stride == 0
    return True


class Reference(nn.Module):
    """Attention as the variants are defined, with a mask for the pattern."""

    def __init__(self, config: ModelConfig, u: Tensor | None, is_within: bool) -> None:
        super().__init__()
        self.config, self.is_within = config, is_within
        self.u = None if u is None else nn.Parameter(u)

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor,
        p_dropout: float,
        *,
        is_causal: bool = False,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        k, v = (x.expand(-1, q.size(1), -1, -1) for x in (k, v))  # one group, or as many as heads
        if self.u is not None:
            scores = torch.einsum(
                "bhtsk,hk->bhts", torch.tanh(q[:, :, :, None] + k[:, :, None]), self.u.view(q.size(1), -1)
            )
        else:
            scores = torch.einsum("bhtk,bhsk->bhts", q, k)
        if self.config.attention == "scaled":
            scores = scores / math.sqrt(q.size(-1))
        scores = scores / self.config.temperature
        allowed = (mask > -1).expand_as(scores)
        if self.is_within:
            length = q.size(-2)
            allowed = allowed & torch.tensor(
                [[attends(self.config, t, s) for s in range(length)] for t in range(length)]
            )
        shares = scores.masked_fill(~allowed, -1e9).softmax(-1)
        if self.config.hard_attention:
            shares = F.one_hot(shares.argmax(-1), shares.size(-1)) + shares - shares.detach()
        return torch.einsum("bhts,bhsk->bhtk", shares, v)


def referred(model: Transformer) -> Transformer:
    """The same model, with the definitions in place of its own attention."""
    other = Transformer(replace(model.config, window=0, stride=0), 31)
    other.load_state_dict(model.state_dict())
    for module in other.modules():
        if isinstance(module, SelfAttention | CrossAttention):
            u = getattr(getattr(module.attend, "scores", None), "u", None)
            module.attend = Reference(model.config, u, isinstance(module, SelfAttention))
    return other


def test_logits_and_gradients_are_those_of_the_definition(variant: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**variant), batch()
    expected = referred(model)
    results = []
    for tested in (model, expected):
        logits = tested(src, tgt_in)
        parameters = dict(tested.named_parameters())
        gradients = torch.autograd.grad(logits.square().sum(), list(parameters.values()))
        results.append((logits, {name.split(".u")[0]: g for name, g in zip(parameters, gradients, strict=True)}))
    logits, gradients_of = results[0]
    torch.testing.assert_close(logits, results[1][0], atol=1e-4, rtol=1e-4)
    for name, gradient in results[1][1].items():
        name = name if name in gradients_of else f"{name}.scores"
        torch.testing.assert_close(gradients_of[name], gradient, atol=2e-3, rtol=2e-3)


def test_recorded_weights_are_those_of_the_fast_path(variant: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**variant).eval(), batch()
    weights = model.attention_weights(src, tgt_in)
    for layer in (*weights.encoder, *weights.decoder, *weights.cross):
        torch.testing.assert_close(layer.sum(-1), torch.ones(layer.shape[:-1]))
        assert not variant.get("hard_attention") or set(layer.unique().tolist()) <= {0.0, 1.0}
    for layer in (*weights.encoder, *weights.cross):
        assert (layer[1, :, :, 4:] == 0)[..., :4, :].all()
        assert (layer[2, :, :, 2:] == 0)[..., :2, :].all()
    for layer in weights.decoder:
        assert (layer.triu(1) == 0).all()
    for layer in (*weights.encoder, *weights.decoder):
        length = layer.size(-1)
        outside = [(t, s) for t in range(length) for s in range(length) if not attends(model.config, t, s)]
        assert all((layer[0, :, t, s] == 0).all() for t, s in outside)
    fast = model(src, tgt_in)
    memory = model.encode(src, AttentionWeights([], [], []))
    torch.testing.assert_close(model.project(model.decode(tgt_in, memory, src, weights)), fast)


def test_decoding_step_by_step_equals_decoding_at_once(variant: dict[str, Any]) -> None:
    model, (src, _) = build(**variant).eval(), batch()
    tokens = torch.randint(4, 31, (3, 40))
    with torch.inference_mode():
        expected = model(src, tokens)
        state = model.start(src, max_length=40)
        for position in range(40):
            logits, state = model.step(state, tokens[:, position : position + 1])
            torch.testing.assert_close(logits[:, 0], expected[:, position], atol=1e-4, rtol=1e-4)


def test_bf16_autocast_is_close_to_fp32(variant: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**variant), batch()
    exact = model(src, tgt_in)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model(src, tgt_in)
    # Hard attention chooses anew between two keys that are nearly equal, so few of its logits are far off.
    differences = (rounded - exact).abs().flatten()
    typical = differences.median() if variant.get("hard_attention") else differences.square().mean().sqrt()
    assert typical < 0.03 * exact.std()


def test_a_model_in_bf16_makes_a_step(variant: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**variant).eval().to(torch.bfloat16), batch()
    with torch.inference_mode():
        state = model.start(src, max_length=5)
        logits, _ = model.step(state, tgt_in[:, :1])
    assert logits.dtype == torch.bfloat16
    assert logits.isfinite().all()


def test_attention_dropout_acts_while_training_only(variant: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**variant, attention_dropout=0.5), batch()
    assert not torch.equal(model(src, tgt_in), model(src, tgt_in))
    model.eval()
    torch.testing.assert_close(model(src, tgt_in), build(**variant)(src, tgt_in))


def test_a_source_of_padding_gives_no_nan(variant: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**variant), batch()
    src[2] = PAD
    logits = model(src, tgt_in)
    logits.square().sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_without_positions_a_source_is_a_set_of_tokens() -> None:
    model, (src, tgt_in) = build(positions="none"), batch()
    order = torch.randperm(7, generator=torch.Generator().manual_seed(3))
    memory = model.encode(src)
    torch.testing.assert_close(model.encode(src[:, order]), memory[:, order])
    torch.testing.assert_close(model.decode(tgt_in, memory[:, order], src[:, order]), model.decode(tgt_in, memory, src))
    placed = build()
    assert (placed.encode(src[:, order]) - placed.encode(src)[:, order]).abs().max() > 0.1
    swapped = tgt_in[:, [0, 2, 1, 3, 4]]  # the decoder still knows what came before a token
    assert (model(src, swapped)[:, 2] - model(src, tgt_in)[:, 1]).abs().max() > 0.1
