"""Invariants of the whole model.

Shapes: B 3, S 7, T 5, D 12, H 3, V 31
"""

from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import Mock

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from seq2seq.config import DROPOUTS, ModelConfig
from seq2seq.errors import UserError
from seq2seq.model import attention
from seq2seq.model.positions import SinusoidalPositions
from seq2seq.model.transformer import Transformer
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.vocabulary import BOS, EOS, PAD

TINY = ModelConfig(d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=3, dropout=0.0, max_length=40)
VARIANTS = [
    {},
    {"norm": "post"},
    {"activation": "swiglu", "positions": "learned"},
    {"activation": "gelu", "embeddings": "separate"},
    {"positions": "rotary", "norm": "post", "residual": 4.0},
    {"activation": "swish", "output_bias": True},
    {"n_heads": 4, "n_kv_heads": 2, "d_head": 6, "d_value": 5, "bias": True, "positions": "rotary"},
    {"n_kv_heads": 1, "d_encoder": 18, "embeddings": "decoder", "norm_type": "rms"},
]


def build(vocab_size: int = 31, **changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(replace(TINY, **changes), vocab_size)


def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    src = torch.randint(4, 31, (3, 7))
    for sentence, length in enumerate([7, 4, 2]):
        src[sentence, length - 1] = EOS
        src[sentence, length:] = PAD
    tgt_in = torch.randint(4, 31, (3, 5))
    tgt_in[:, 0] = BOS
    return src, tgt_in


@settings(max_examples=25)
@given(position=st.integers(1, 4), token=st.integers(0, 30), variant=st.sampled_from(VARIANTS))
def test_a_target_token_changes_no_earlier_logit(position: int, token: int, variant: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**variant), batch()
    changed = tgt_in.clone()
    changed[:, position] = token
    before, after = model(src, tgt_in), model(src, changed)
    torch.testing.assert_close(after[:, :position], before[:, :position])
    is_new = changed[:, position] != tgt_in[:, position]
    assert (after[is_new, position:] != before[is_new, position:]).any(-1).all()


@pytest.mark.parametrize("changes", VARIANTS)
def test_padding_a_source_changes_no_logit(changes: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**changes), batch()
    together = model(src, tgt_in)
    for sentence, length in enumerate([7, 4, 2]):
        alone = model(src[sentence : sentence + 1, :length], tgt_in[sentence : sentence + 1])
        torch.testing.assert_close(together[sentence : sentence + 1], alone)


@pytest.mark.parametrize("changes", VARIANTS)
def test_the_kernels_of_torch_make_the_same_model(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: self-attention of the decoder says that it is causal, which flash kernels know without a mask."""
    model, (src, tgt_in) = build(**changes), batch()
    tgt_in[1, 3:] = PAD
    is_token = (tgt_in != PAD)[..., None]
    results = []
    fused = Mock(wraps=F.scaled_dot_product_attention)
    monkeypatch.setattr(F, "scaled_dot_product_attention", fused)
    for longest_explicit in (256, 0):
        monkeypatch.setattr(attention, "LONGEST_EXPLICIT", longest_explicit)
        logits = model(src, tgt_in).masked_fill(~is_token, 0.0)
        results.append((logits, *torch.autograd.grad(logits.square().sum(), list(model.parameters()))))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
    causal = [call.kwargs.get("is_causal", False) for call in fused.call_args_list]
    assert causal == [False] * 2 + [True, False] * 3  # two layers that encode, three that decode
    assert [call.kwargs.get("attn_mask") is None for call in fused.call_args_list] == causal


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_every_source_token_and_position_counts(positions: str) -> None:
    model, (src, tgt_in) = build(positions=positions), batch()
    before = model(src, tgt_in)[0]
    for position in range(7):
        changed = src.clone()
        changed[0, position] = 4 if src[0, position] != 4 else 5
        assert (model(changed, tgt_in)[0] - before).abs().amax(-1).min() > 1e-4
    swapped = src.clone()
    swapped[0, [1, 2]] = src[0, [2, 1]]
    assert (model(swapped, tgt_in)[0] - before).abs().amax(-1).min() > 1e-4


@pytest.mark.parametrize(("changes", "width"), [({}, 12), ({"d_encoder": 18, "embeddings": "decoder"}, 18)])
def test_embeddings_are_scaled_and_positions_added(changes: dict[str, Any], width: int) -> None:
    """Without layers, memory is what the first of them would get (sections 3.4 and 3.5)."""
    model, (src, _) = build(norm="post", **changes), batch()
    model.encoder.layers = torch.nn.ModuleList()  # type: ignore[assignment]
    expected = model.embeddings.source[src] * width**0.5 + SinusoidalPositions(7, width)(0, 7)
    torch.testing.assert_close(model.encode(src), expected)


@pytest.mark.parametrize("changes", VARIANTS)
def test_decoding_step_by_step_equals_decoding_at_once(changes: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**changes).eval(), batch()
    with torch.inference_mode():
        expected = model(src, tgt_in)
        state = model.start(src, max_length=5)
        for position in range(5):
            logits, state = model.step(state, tgt_in[:, position : position + 1])
            torch.testing.assert_close(logits[:, 0], expected[:, position])


def test_rotary_positions_say_how_far_apart_and_not_where() -> None:
    """Tokens moved to later places, behind others that are hidden from them, attend as before."""
    model = build(positions="rotary")
    mask = torch.zeros(1, 1, 1, 6)
    x = torch.randn(1, 6, 12)
    attention = model.encoder.layers[0].self_attention
    later = torch.cat([torch.randn(1, 9, 12), x], 1)
    hidden = torch.cat([torch.full((1, 1, 1, 9), float("-inf")), mask], -1)
    torch.testing.assert_close(attention(later, hidden)[:, 9:], attention(x, mask))


@pytest.mark.parametrize(
    ("sharing", "names"),
    [("shared", {"shared"}), ("decoder", {"source", "target"}), ("separate", {"source", "target", "output"})],
)
def test_tables_are_shared_as_configured(sharing: str, names: set[str]) -> None:
    model = build(embeddings=sharing)
    tables = (model.embeddings.source, model.embeddings.target, model.embeddings.output)
    assert len({table.data_ptr() for table in tables}) == len(names)
    assert {name for name in model.state_dict() if "tables" in name} == {f"embeddings.tables.{n}" for n in names}


def test_each_table_has_its_use() -> None:
    """Source ids, target ids and logits read their own table when none is shared."""
    model, (src, tgt_in) = build(embeddings="separate"), batch()
    memory = model.encode(src)
    hidden = model.decode(tgt_in, memory, src)
    logits = model.project(hidden)
    for table in model.embeddings.tables.values():
        table.data.mul_(2)
        changed = (
            not torch.equal(model.encode(src), memory),
            not torch.equal(model.decode(tgt_in, memory, src), hidden),
            not torch.equal(model.project(hidden), logits),
        )
        table.data.div_(2)
        assert changed == tuple(
            table is use for use in (model.embeddings.source, model.embeddings.target, model.embeddings.output)
        )


def paper_size(d: int, ff: int, layers: int, vocab: int) -> int:
    attention, feed_forward, norm = 4 * d * d, 2 * d * ff + ff + d, 2 * d
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return layers * (encoder_layer + decoder_layer) + vocab * d


@pytest.mark.parametrize(
    ("d_model", "n_heads", "d_ff", "millions"), [(512, 8, 2048, 65), (1024, 16, 4096, 213)], ids=["base", "big"]
)
def test_sizes_are_those_of_table_3(d_model: int, n_heads: int, d_ff: int, millions: int) -> None:
    config = ModelConfig(
        d_model=d_model, n_heads=n_heads, d_ff=d_ff, n_encoder_layers=6, n_decoder_layers=6, norm="post"
    )
    with torch.device("meta"):
        model = Transformer(config, 37_000)
    assert model.n_parameters == paper_size(d_model, d_ff, 6, 37_000)
    assert model.n_parameters == pytest.approx(millions * 1e6, rel=0.035)


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"norm": "pre"}, 2 * 2 * 12),  # two final norms
        ({"positions": "learned"}, 40 * 12),
        ({"embeddings": "decoder"}, 31 * 12),
        ({"embeddings": "separate"}, 2 * 31 * 12),
        ({"activation": "swiglu"}, 5 * (12 * 20 - 20 - 12)),
        ({"bias": True}, 8 * 4 * 12),
        ({"output_bias": True}, 31),
    ],
)
def test_what_a_variant_adds(changes: dict[str, Any], more: int) -> None:
    assert build(**({"norm": "post"} | changes)).n_parameters == build(norm="post").n_parameters + more


def test_the_loss_knows_the_bias_of_the_output() -> None:
    model, (src, tgt_in) = build(output_bias=True), batch()
    assert model.output_bias is not None
    torch.nn.init.normal_(model.output_bias)
    tgt_out = tgt_in.roll(-1, 1)
    hidden = model.decode(tgt_in, model.encode(src), src)
    ours = smoothed_cross_entropy(*model.factors(hidden), tgt_out, 0.1)
    logits = model(src, tgt_in).flatten(0, 1)
    theirs = F.cross_entropy(logits, tgt_out.flatten(), reduction="sum", ignore_index=PAD, label_smoothing=0.1)
    torch.testing.assert_close(ours.smoothed, theirs)
    weights = [model.output_bias, model.embeddings.output]
    torch.testing.assert_close(
        torch.autograd.grad(ours.smoothed, weights, retain_graph=True), torch.autograd.grad(theirs, weights)
    )


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_a_weight_of_the_residual_makes_the_layers_of_deepnorm(name: str) -> None:
    """LayerNorm(a x + Sublayer(x)) (Wang et al. 2022, section 3)."""
    model = build(norm="post", residual=3.0, norm_eps=1e-12)
    layer, x = getattr(model, name).layers[0], torch.randn(3, 5, 12)
    around, network = layer.around_feed_forward, layer.feed_forward
    torch.testing.assert_close(around(x, network), F.layer_norm(3 * x + network(x), (12,)))


@pytest.mark.parametrize("changes", VARIANTS)
def test_bf16_autocast_is_close_to_fp32(changes: dict[str, Any]) -> None:
    model, (src, tgt_in) = build(**changes), batch()
    exact = model(src, tgt_in)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model(src, tgt_in)
    assert (rounded - exact).std() < 0.02 * exact.std()


def test_a_model_in_bf16_decodes_like_one_in_fp32() -> None:
    model, (src, tgt_in) = build().eval(), batch()
    expected = model(src, tgt_in)
    model = model.to(torch.bfloat16)
    with torch.inference_mode():
        state = model.start(src, max_length=5)
        for position in range(5):
            logits, state = model.step(state, tgt_in[:, position : position + 1])
            assert logits.dtype == torch.bfloat16
            assert (logits[:, 0] - expected[:, position]).std() < 0.03 * expected.std()


@pytest.mark.parametrize(("field", "activation"), [*product(DROPOUTS, ["relu"]), ("activation_dropout", "swiglu")])
def test_each_dropout_acts_while_training_only(field: str, activation: str) -> None:
    changes: dict[str, Any] = {field: 0.5}
    model, (src, tgt_in) = build(activation=activation, **changes), batch()
    assert not torch.equal(model(src, tgt_in), model(src, tgt_in))
    model.eval()
    torch.testing.assert_close(model(src, tgt_in), build(activation=activation)(src, tgt_in))


def test_embedded_tokens_are_dropped_too() -> None:
    """Section 5.4: dropout on the sums of embeddings and positions, which without layers is all there is."""
    torch.manual_seed(0)
    model, (src, _) = build(norm="post", dropout=0.5), batch()
    model.encoder.layers = torch.nn.ModuleList()  # type: ignore[assignment]
    is_dropped = model.encode(src) == 0
    assert 0.3 < is_dropped.double().mean() < 0.7


def test_word_dropout_leaves_only_the_positions_of_its_share_of_tokens() -> None:
    torch.manual_seed(0)
    model, src = build(norm="post", word_dropout=0.25), torch.full((50, 40), 4)
    model.encoder.layers = torch.nn.ModuleList()  # type: ignore[assignment]
    embedded, position = model.encode(src), model.positions(0, 40)
    word = model.embeddings.source[4] * 12**0.5
    is_dropped = (embedded == position).all(-1)
    assert 0.2 < is_dropped.double().mean() < 0.3
    torch.testing.assert_close(embedded - position, word * ~is_dropped.unsqueeze(-1))


def test_initial_tables_have_a_deviation_of_one_over_root_d() -> None:
    model = build(vocab_size=5000)
    assert model.embeddings.output.std().item() == pytest.approx(12**-0.5, rel=0.02)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_too_long_a_sequence_is_refused_by_name(positions: str) -> None:
    model, (src, tgt_in) = build(positions=positions), batch()
    long = torch.full((3, 41), 4)
    for call in (lambda: model(long, tgt_in), lambda: model(src, long), lambda: model.start(src, max_length=41)):
        with pytest.raises(UserError, match=r"41 tokens .* model.max_length=40"):
            call()
