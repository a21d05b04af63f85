"""What attention does by itself; test_scores.py has its numbers by hand, and test_widths.py its definition."""

import pytest
import torch

from seq2seq.config import ModelConfig
from seq2seq.model import attention as attention_module
from seq2seq.model import masks
from seq2seq.model.attention import SelfAttention, attention
from seq2seq.model.cache import KeyValueCache


def nothing_hidden(queries: int, keys: int) -> torch.Tensor:
    return masks.additive(torch.ones(queries, keys, dtype=torch.bool))


def test_causal_lets_a_query_see_itself_and_what_precedes_it() -> None:
    expected = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=torch.bool)
    assert torch.equal(masks.causal(3, torch.device("cpu")), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_query_that_may_attend_to_nothing_gets_no_nan(dtype: torch.dtype, monkeypatch) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 3, 5, 4, dtype=dtype, requires_grad=True) for _ in range(3))
    mask = masks.additive(torch.zeros(1, 1, 5, 5, dtype=torch.bool))
    for longest_explicit in (attention_module.LONGEST_EXPLICIT, 0):
        monkeypatch.setattr(attention_module, "LONGEST_EXPLICIT", longest_explicit)
        output = attention(q, k, v, mask, 0.0)
        gradients = torch.autograd.grad(output.float().sum(), (q, k, v))
        assert output.isfinite().all()
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_projections_are_initialised_for_their_size() -> None:
    torch.manual_seed(0)
    bound = (6 / (256 + 256)) ** 0.5  # Glorot & Bengio 2010, for a 256 x 256 matrix
    attention = SelfAttention(ModelConfig(d_model=256, n_heads=4))
    for weight in (linear.weight for linear in (attention.to_q, attention.to_k, attention.to_v, attention.to_out)):
        assert 0.99 * bound < weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)


def test_rotary_positions_leave_the_values_as_they_are() -> None:
    """One token attends to itself alone, so that its output is its projected value."""
    attention = SelfAttention(ModelConfig(d_model=12, n_heads=3, positions="rotary"))
    x, mask = torch.randn(2, 1, 12), nothing_hidden(1, 1)
    expected = attention.to_out(attention.to_v(x))
    past = KeyValueCache()
    torch.testing.assert_close(attention(x, mask), expected)
    torch.testing.assert_close(attention.step(x, past, place=0, position=7, mask=mask), expected)
