"""Windows in blocks against full attention with a mask, and what they cost; test_variants.py has all patterns."""

from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.model.attention import attention, scaled_dot_product_attention
from seq2seq.model.masks import HIDDEN, additive, causal
from seq2seq.model.transformer import Transformer
from seq2seq.model.variants import self_attention
from seq2seq.model.variants.blocks import attend_in_blocks, block_size
from seq2seq.model.variants.patterns import Window

CPU = torch.device("cpu")


def distances(length: int) -> Tensor:
    return torch.arange(length)[:, None] - torch.arange(length)


def heads(length: int, d_value: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(length)
    q, k = torch.randn(2, 2, 3, length, 4)
    v = torch.randn(2, 3, length, d_value)
    return q.requires_grad_(), k.requires_grad_(), v.requires_grad_()


def padded(length: int) -> Tensor:
    """The second of two sentences is shorter: additive, (2, 1, 1, T)."""
    return additive(torch.arange(length) < torch.tensor([[length], [length - 20]]))[:, None, None]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("length", "w"), [(33, 1), (64, 5), (65, 32), (100, 33), (150, 40), (31, 64), (97, 0)])
def test_blocks_equal_full_attention_with_a_mask(length: int, w: int, is_causal: bool) -> None:
    """Shapes: B 2, H 3, K 4, and values of 5."""
    q, k, v = heads(length, d_value=5)
    may_attend = Window(w).allows(distances(length))
    if is_causal:
        may_attend = may_attend & causal(length, CPU)
    keys = padded(length)
    expected, _ = scaled_dot_product_attention(q, k, v, torch.minimum(keys, additive(may_attend)))
    outputs = attend_in_blocks(attention, q, k, v, keys, w, 0.0, is_causal=is_causal)
    # A token of padding that sees no token but padding has no meaning.
    is_token = (keys > HIDDEN).transpose(-2, -1)
    results = [(x := y * is_token, *torch.autograd.grad(x.square().sum(), (q, k, v))) for y in (outputs, expected)]
    torch.testing.assert_close(*results, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("is_causal", [False, True])
def test_long_sequences_take_blocks_and_short_ones_the_mask(is_causal: bool, monkeypatch) -> None:
    in_blocks = Mock(wraps=attend_in_blocks)
    monkeypatch.setattr(self_attention, "attend_in_blocks", in_blocks)
    config = ModelConfig(d_model=12, n_heads=3)
    module = self_attention.PatternedSelfAttention(config, attention, Window(5))
    longest = self_attention.SHORT * block_size(5)
    for length in (longest, longest + 1):
        x, mask = torch.randn(2, length, 12), torch.zeros(1, length)
        torch.testing.assert_close(
            module(x, mask, is_causal=is_causal), module(x, mask, is_causal=is_causal, weights=[])
        )
    assert [call.args[1].size(-2) for call in in_blocks.call_args_list] == [longest + 1]


@pytest.mark.parametrize("w", [4, 64, 100])
def test_a_token_costs_the_same_in_a_sequence_of_any_length(w: int) -> None:
    """The pairs of queries and keys that are multiplied, in blocks: at most 3 (w + a rest) for each token."""
    seen = []

    class Counting(torch.nn.Module):
        def forward(self, q, k, v, mask, p_dropout, *, is_causal=False, weights=None):
            seen.append(q[..., 0].numel() * k.size(-2))
            return v[..., : q.size(-2), :]

    for n in (2, 16):
        x = torch.zeros(1, 1, n * block_size(w), 2)
        attend_in_blocks(Counting(), x, x, x, torch.zeros(1, x.size(2)), w, 0.0, is_causal=False)
    assert seen[1] == 8 * seen[0]
    assert seen[1] <= 16 * block_size(w) * 3 * max(32, w + 8)


def test_the_decoder_makes_no_table_of_all_pairs_for_a_window() -> None:
    config = ModelConfig(
        d_model=4, n_heads=1, d_ff=4, n_encoder_layers=1, n_decoder_layers=1, window=4, max_length=4096
    )
    model = Transformer(config, 9).eval()
    tokens = torch.randint(4, 9, (1, 4096))
    with torch.inference_mode(), torch.profiler.profile(profile_memory=True) as profile:
        model.decode(tokens, model.encode(tokens[:, :50]), tokens[:, :50])
    largest = max(event.cpu_memory_usage for event in profile.events())
    assert largest < 4096 * 4096 / 4  # a table of all pairs would take 16 MB as truth values alone
