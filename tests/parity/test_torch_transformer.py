"""Our Transformer and `torch.nn.Transformer` with the same weights: same hidden states, same gradients.

Torch has biases in its projections (set to zero here) and always a final norm (removed for post-norm, where the
paper has none).

Shapes: B 3, S 7, T 5, D 12, H 3, V 31
"""

import pytest
import torch
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model import masks
from seq2seq.model.transformer import Transformer

TORCHS_NAMES = {
    "self_attention.to_q.weight": "self_attn.in_proj_weight",
    "self_attention.to_out": "self_attn.out_proj",
    "cross_attention.to_q.weight": "multihead_attn.in_proj_weight",
    "cross_attention.to_out": "multihead_attn.out_proj",
    "feed_forward.to_hidden": "linear1",
    "feed_forward.to_out": "linear2",
    "around_self_attention.norm": "norm1",
    "around_cross_attention.norm": "norm2",
}


def in_torchs_names(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights (or their gradients) of our two halves, as `nn.Transformer` has them."""
    theirs = {}
    for name, tensor in ours.items():
        if name.startswith(("encoder", "decoder")) and not name.endswith(("to_k.weight", "to_v.weight")):
            if "to_q" in name:
                tensor = torch.cat([tensor, *(ours[name.replace("to_q", other)] for other in ("to_k", "to_v"))])
            for our_part, their_part in TORCHS_NAMES.items():
                name = name.replace(our_part, their_part)
            name = name.replace("around_feed_forward.norm", "norm2" if name.startswith("encoder") else "norm3")
            theirs[name] = tensor
    return theirs


def torch_twin(ours: Transformer) -> nn.Transformer:
    config = ours.config
    theirs = nn.Transformer(
        config.d_model,
        config.n_heads,
        config.n_encoder_layers,
        config.n_decoder_layers,
        config.d_ff,
        dropout=0.0,
        activation=config.activation,
        batch_first=True,
        norm_first=config.norm == "pre",
    )
    if config.norm == "post":
        theirs.encoder.norm = theirs.decoder.norm = None
    missing, unexpected = theirs.load_state_dict(in_torchs_names(ours.state_dict()), strict=False)
    assert not unexpected
    assert all(name.endswith(("in_proj_bias", "out_proj.bias")) for name in missing)
    for name in missing:
        nn.init.zeros_(theirs.get_parameter(name))
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_hidden_states_and_gradients_equal_torchs(norm: str, activation: str) -> None:
    torch.manual_seed(0)
    config = ModelConfig(
        d_model=12,
        n_heads=3,
        d_ff=20,
        n_encoder_layers=2,
        n_decoder_layers=3,
        norm=norm,
        activation=activation,
        dropout=0.0,
    )
    ours = Transformer(config, vocab_size=31)
    for name, parameter in ours.named_parameters():  # no norm and no bias may hide behind its initial value
        if "norm" in name or "bias" in name:
            nn.init.uniform_(parameter, 0.5, 1.5)
    theirs = torch_twin(ours)
    table = ours.embeddings.output.detach().clone().requires_grad_()
    src, tgt_in = torch.randint(4, 31, (3, 7)), torch.randint(4, 31, (3, 5))
    is_pad = torch.arange(7) >= torch.tensor([[7], [4], [2]])  # (B, S)
    src[is_pad] = 0

    hidden = ours.decode(tgt_in, ours.encode(src), src)
    expected = theirs(
        table[src] * 12**0.5 + ours.positions(0, 7),
        table[tgt_in] * 12**0.5 + ours.positions(0, 5),
        tgt_mask=~masks.causal(5, src.device),  # torch's True means hidden
        src_key_padding_mask=is_pad,
        memory_key_padding_mask=is_pad,
    )
    torch.testing.assert_close(hidden, expected)

    probe = torch.randn(3, 5, 12)
    (hidden * probe).sum().backward()
    (expected * probe).sum().backward()
    gradients = in_torchs_names({name: p.grad for name, p in ours.named_parameters() if p.grad is not None})
    torch.testing.assert_close(gradients, {name: theirs.get_parameter(name).grad for name in gradients})
    torch.testing.assert_close(ours.embeddings.output.grad, table.grad)
