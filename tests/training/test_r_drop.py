"""The loss of R-Drop against its definition in torch.

Shapes: B 3, T 5, D 7, V 12
"""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.training import loss as loss_module
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.training.r_drop import consistent_cross_entropy
from seq2seq.vocabulary import PAD
from tests.training.losses import example, reference


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch) -> None:
    """Four rows at a time, so that these tiny batches have several chunks and a short last one."""
    monkeypatch.setattr(loss_module, "CHUNK", 4)


def two_passes(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    _, weight, tgt_out = example(dtype)
    return torch.randn(6, 5, 7, dtype=dtype, requires_grad=True), weight, tgt_out


def consistent_reference(hidden: Tensor, weight: Tensor, tgt_out: Tensor, eps: float, alpha: float) -> Tensor:
    """Equation 3 of Liang et al. 2021, halved, from their definitions."""
    is_token = tgt_out != PAD
    log_p1, log_p2 = ((half @ weight.T).log_softmax(-1)[is_token] for half in hidden.chunk(2))
    kl12 = F.kl_div(log_p2, log_p1, log_target=True, reduction="sum")  # KL(p1 || p2)
    kl21 = F.kl_div(log_p1, log_p2, log_target=True, reduction="sum")
    ce = sum(reference(half, weight, tgt_out, eps) for half in hidden.chunk(2))
    return (ce + alpha * (kl12 + kl21) / 2) / 2


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_consistent_loss_and_gradients_equal_torchs(alpha: float, eps: float) -> None:
    hidden, weight, tgt_out = two_passes()
    ours = consistent_cross_entropy(hidden, weight, tgt_out, eps, alpha).smoothed
    theirs = consistent_reference(hidden, weight, tgt_out, eps, alpha)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, (hidden, weight)), torch.autograd.grad(theirs, (hidden, weight))
    )


def test_passes_that_agree_have_the_plain_loss() -> None:
    hidden, weight, tgt_out = example()
    plain = smoothed_cross_entropy(hidden, weight, tgt_out, 0.1)
    torch.testing.assert_close(
        tuple(consistent_cross_entropy(hidden.repeat(2, 1, 1), weight, tgt_out, 0.1, 5.0)),
        (plain.smoothed, plain.nll, plain.n_tokens, plain.n_correct.float()),
    )


def test_consistent_loss_in_bf16_is_close_to_fp32() -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(10, 60, 64), torch.randn(300, 64) / 4
    tgt_out = torch.randint(1, 300, (5, 60))
    inputs = hidden.requires_grad_(), weight.requires_grad_()
    expected = consistent_cross_entropy(*inputs, tgt_out, 0.1, 5.0).smoothed
    with torch.autocast("cpu", torch.bfloat16):
        rounded = consistent_cross_entropy(*inputs, tgt_out, 0.1, 5.0).smoothed
    assert rounded.item() == pytest.approx(expected.item(), rel=1e-2)
    for ours, exact in zip(torch.autograd.grad(rounded, inputs), torch.autograd.grad(expected, inputs), strict=True):
        assert F.cosine_similarity(ours.flatten(), exact.flatten(), dim=0) > 0.999
