"""The statistics of dropout from random bytes."""

import subprocess
import sys

import pytest
import torch

from seq2seq.model.dropout import Dropout, add_dropout, dropout
from tests.places import ROOT


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_elements_are_dropped_as_often_as_they_should_and_the_others_scaled(p: float) -> None:
    torch.manual_seed(0)
    n = 1 << 20
    out = dropout(torch.ones(n), p)
    rounded = round(p * 256) / 256
    assert out.unique().tolist() == [0.0, pytest.approx(1 / (1 - rounded))]
    deviation = (rounded * (1 - rounded) / n) ** 0.5
    assert (out == 0).double().mean().item() == pytest.approx(rounded, abs=5 * deviation)


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 7, 8, 16, 256])
def test_neighbours_are_independent(distance: int) -> None:
    """Eight elements share a 64-bit draw: no byte of it may say anything about another."""
    torch.manual_seed(0)
    n = 1 << 20
    kept = (dropout(torch.ones(n), 0.5) > 0).double() - 0.5
    correlation = 4 * (kept[:-distance] * kept[distance:]).mean().item()
    assert abs(correlation) < 5 / n**0.5


def test_each_of_the_eight_bytes_of_a_draw_is_uniform() -> None:
    torch.manual_seed(0)
    kept = (dropout(torch.ones(1 << 20), 0.1) > 0).double().view(-1, 8).mean(0)
    torch.testing.assert_close(kept, torch.full((8,), 1 - 26 / 256).double(), atol=0.005, rtol=0)


def test_calls_are_independent_and_reproducible() -> None:
    torch.manual_seed(0)
    first, second = (dropout(torch.ones(1 << 18), 0.5) for _ in range(2))
    torch.manual_seed(0)
    assert torch.equal(dropout(torch.ones(1 << 18), 0.5), first)
    assert abs((first - 1).mul(second - 1).mean().item()) < 5 / (1 << 9)


def test_nothing_happens_without_dropout() -> None:
    x = torch.randn(5, 7)
    assert dropout(x, 0.0) is x
    assert Dropout(0.5).eval()(x) is x
    assert torch.equal(Dropout(0.5).eval().add(x, x), x + x)


@pytest.mark.parametrize("shape", [(), (1,), (5, 7, 12), (0, 3)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    assert dropout(x, 0.5).shape == shape
    assert add_dropout(x, x, 0.5).shape == shape


def test_a_probability_near_one_keeps_something_finite() -> None:
    assert dropout(torch.ones(4096), 0.999).isfinite().all()


@pytest.mark.parametrize(("dtype", "share"), [(torch.float32, 1.0), (torch.bfloat16, 1.0), (torch.float32, 0.25)])
def test_a_residual_connection_has_the_sum_and_gradient_of_its_parts(dtype: torch.dtype, share: float) -> None:
    x = torch.randn(5, 7, 12, requires_grad=True)
    y = torch.randn(5, 7, 12, dtype=dtype, requires_grad=True)
    torch.manual_seed(0)
    fused = add_dropout(x, y, 0.3, share)
    torch.manual_seed(0)
    mask = dropout(torch.ones(5, 7, 12), 0.3)
    plain = x + share * y.float() * mask
    gradient = torch.randn(5, 7, 12)
    torch.testing.assert_close(fused, plain)
    torch.testing.assert_close(
        torch.autograd.grad(fused, (x, y), gradient), torch.autograd.grad(plain, (x, y), gradient)
    )


@pytest.mark.slow  # importing the compiler takes most of it
def test_a_compiled_residual_connection_has_the_sum_and_gradient_of_its_parts() -> None:
    x, y = (torch.randn(5, 7, 12, requires_grad=True) for _ in range(2))
    compiled = torch.compile(add_dropout, backend="aot_eager", fullgraph=True)
    out = compiled(x, y, 0.3)
    grad_x, grad_y = torch.autograd.grad(out.sum(), (x, y))
    assert grad_y.unique().tolist() == [0.0, pytest.approx(1 / 0.7)]
    torch.testing.assert_close(grad_x, torch.ones_like(x))
    torch.testing.assert_close(out, x + y * grad_y)
    assert torch.equal(compiled(x, y, 0.0), x + y)


@pytest.mark.slow
def test_a_forward_pass_does_not_import_the_compiler() -> None:
    """It takes a second of CPU time."""
    code = """
import sys, torch
from seq2seq.config import ModelConfig
from seq2seq.model.transformer import Transformer
model = Transformer(ModelConfig(d_model=12, n_heads=3, d_ff=24, n_encoder_layers=1, n_decoder_layers=1), 20)
ids = torch.tensor([[4, 5, 3]])
model.eval()(ids, ids)
model.train()(ids, ids).sum().backward()
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_plain_dropout_masks_its_gradient_alike() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 7, 12, requires_grad=True)
    out = dropout(x, 0.3)
    (gradient,) = torch.autograd.grad(out.sum(), x)
    torch.testing.assert_close(out, gradient * x)
