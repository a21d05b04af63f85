"""The loss against `F.cross_entropy` and numbers by hand.

Shapes: B 3, T 5, D 7, V 12
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.training import loss as loss_module
from seq2seq.training.loss import smoothed_cross_entropy, target_rows
from seq2seq.vocabulary import PAD
from tests.training.losses import example, reference


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch) -> None:
    """Four rows at a time, so that these tiny batches have several chunks and a short last one."""
    monkeypatch.setattr(loss_module, "CHUNK", 4)


def test_two_tokens_by_hand() -> None:
    hidden = torch.tensor([[[1.0], [0.0]]])
    weight = torch.tensor([[0.0], [0.0], [math.log(2)]])  # p = 1/4, 1/4, 1/2, then uniform
    result = smoothed_cross_entropy(hidden, weight, torch.tensor([[2, 1]]), 0.3)
    nll = math.log(2) + math.log(3)
    uniform = (2 * math.log(4) + math.log(2)) / 3 + math.log(3)
    assert result.nll.item() == pytest.approx(nll, rel=1e-6)
    assert result.smoothed.item() == pytest.approx(0.7 * nll + 0.3 * uniform, rel=1e-6)
    assert result.n_tokens.item() == 2


@pytest.mark.parametrize("eps", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_loss_and_gradients_equal_torchs(eps: float, dtype: torch.dtype) -> None:
    hidden, weight, tgt_out = example(dtype)
    ours = smoothed_cross_entropy(hidden, weight, tgt_out, eps).smoothed
    theirs = reference(hidden, weight, tgt_out, eps)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours / 11, (hidden, weight)), torch.autograd.grad(theirs / 11, (hidden, weight))
    )


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_teachers_share_equals_torchs(share: float, dtype: torch.dtype) -> None:
    hidden, weight, tgt_out = example(dtype)
    teacher = torch.randn(3, 5, 4, dtype=dtype), torch.randn(12, 4, dtype=dtype)  # of another width
    ours = smoothed_cross_entropy(hidden, weight, tgt_out, 0.1, teacher=teacher, teacher_share=share)
    log_p, q = (hidden @ weight.T).log_softmax(-1), (teacher[0] @ teacher[1].T).softmax(-1)
    taught = -(q * log_p).sum(-1)[tgt_out != PAD].sum()
    theirs = (1 - share) * reference(hidden, weight, tgt_out, 0.1) + share * taught
    torch.testing.assert_close(ours.smoothed, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours.smoothed / 11, (hidden, weight)), torch.autograd.grad(theirs / 11, (hidden, weight))
    )
    alone = smoothed_cross_entropy(hidden, weight, tgt_out, 0.1)
    assert (ours.nll, ours.n_correct) == (alone.nll, alone.n_correct)  # what is measured is of the text


def test_sums_without_gradients_are_the_same() -> None:
    hidden, weight, tgt_out = example()
    with_gradients = smoothed_cross_entropy(hidden, weight, tgt_out, 0.1)
    with torch.inference_mode():
        without = smoothed_cross_entropy(hidden, weight, tgt_out, 0.1)
    torch.testing.assert_close(tuple(with_gradients), tuple(without))
    assert not without.smoothed.requires_grad
    assert not with_gradients.nll.requires_grad


def test_padding_is_neither_in_the_sums_nor_in_the_counts() -> None:
    hidden, weight, tgt_out = example()
    result = smoothed_cross_entropy(hidden, weight, tgt_out, 0.1)
    logits = hidden @ weight.T
    is_token = tgt_out != PAD
    assert result.n_tokens.item() == 12
    assert result.n_correct.item() == ((logits.argmax(-1) == tgt_out) & is_token).sum().item()
    torch.testing.assert_close(result.nll, reference(hidden, weight, tgt_out, 0.0))
    (gradient,) = torch.autograd.grad(result.smoothed, hidden)
    assert (gradient[~is_token] == 0).all()
    assert (gradient[is_token] != 0).all()


def test_a_batch_of_padding_has_no_loss_and_no_nan() -> None:
    hidden, weight, tgt_out = example()
    result = smoothed_cross_entropy(hidden, weight, torch.full_like(tgt_out, PAD), 0.1)
    result.smoothed.backward()
    assert (result.smoothed.item(), result.n_tokens.item(), result.n_correct.item()) == (0, 0, 0)
    assert weight.grad is not None
    assert (weight.grad == 0).all()


def test_correct_tokens_are_counted() -> None:
    weight = torch.eye(12)
    tgt_out = torch.tensor([[4, 5, 6, 0]])
    hidden = weight[[4, 5, 7, 0]][None]
    assert smoothed_cross_entropy(hidden, weight, tgt_out, 0.1).n_correct.item() == 2


@pytest.mark.parametrize("scale", [100.0, 1000.0])
def test_huge_logits_stay_finite(scale: float) -> None:
    hidden, weight, tgt_out = example()
    ours = smoothed_cross_entropy(hidden * scale, weight, tgt_out, 0.1).smoothed
    torch.testing.assert_close(ours, reference(hidden * scale, weight, tgt_out, 0.1))
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(ours, (hidden, weight)))


def test_bf16_autocast_is_close_to_fp32_and_leaves_fp32_gradients() -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(5, 60, 64), torch.randn(300, 64) / 4
    tgt_out = torch.randint(1, 300, (5, 60))
    inputs = hidden.requires_grad_(), weight.requires_grad_()
    expected = smoothed_cross_entropy(*inputs, tgt_out, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        result = smoothed_cross_entropy(*inputs, tgt_out, 0.1)
    assert result.smoothed.dtype == torch.float32
    torch.testing.assert_close(result.nll, expected.nll, rtol=1e-3, atol=0)
    torch.testing.assert_close(result.smoothed, expected.smoothed, rtol=1e-3, atol=0)
    for ours, exact in zip(
        torch.autograd.grad(result.smoothed, inputs), torch.autograd.grad(expected.smoothed, inputs), strict=True
    ):
        assert ours.dtype == torch.float32
        assert (ours - exact).norm() < 0.01 * exact.norm()


def test_smoothing_is_summed_in_fp32_under_autocast() -> None:
    """All logits are 3, so that each of 301 tokens costs log 12, and 301 * 3 needs more bits than bf16 has."""
    hidden, weight = torch.ones(7, 43, 1), torch.full((12, 1), 3.0)
    with torch.autocast("cpu", torch.bfloat16):
        result = smoothed_cross_entropy(hidden, weight, torch.ones(7, 43, dtype=torch.int64), 0.5)
    assert result.smoothed.item() == pytest.approx(301 * math.log(12), rel=1e-5)


@settings(max_examples=20)
@given(cut=st.integers(1, 14), eps=st.floats(0, 0.9))
def test_the_loss_of_a_batch_is_the_sum_of_its_parts(cut: int, eps: float) -> None:
    hidden, weight, tgt_out = example(torch.float64)
    hidden, tgt_out = hidden.reshape(1, 15, 7), tgt_out.reshape(1, 15)
    whole = smoothed_cross_entropy(hidden, weight, tgt_out, eps)
    parts = (
        smoothed_cross_entropy(hidden[:, rows], weight, tgt_out[:, rows], eps)
        for rows in (slice(cut), slice(cut, None))
    )
    torch.testing.assert_close(tuple(whole), tuple(map(sum, zip(*parts, strict=True))))


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=9))
def test_rows_are_found_by_their_number_as_by_a_search(lengths: list[int]) -> None:
    tgt_out = torch.where(torch.arange(9) < torch.tensor(lengths)[:, None], 3, PAD)
    assert torch.equal(target_rows(tgt_out, sum(lengths)), target_rows(tgt_out))
