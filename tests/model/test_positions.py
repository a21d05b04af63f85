import math

import pytest
import torch

from seq2seq.model.positions import NoPositions, RotaryPositions, SinusoidalPositions


@pytest.mark.parametrize(("position", "i"), [(0, 0), (1, 0), (1, 1), (7, 2), (50, 5), (999, 3)])
def test_sinusoids_follow_the_formula_of_section_3_5(position: int, i: int) -> None:
    row = SinusoidalPositions(1000, 12)(position, 1)[0]
    angle = position / 10000 ** (2 * i / 12)
    assert row[2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
    assert row[2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


@pytest.mark.parametrize("kind", [SinusoidalPositions, NoPositions, RotaryPositions])
def test_computed_tables_are_in_no_checkpoint(kind: type[torch.nn.Module]) -> None:
    assert not kind(7, 12).state_dict()


def turned(x: torch.Tensor, start: int) -> torch.Tensor:
    """The rotation of Su et al. 2021, equation 14, as a product of complex numbers; x: (..., L, K)."""
    half = x.size(-1) // 2
    rate = 10000 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(start, start + x.size(-2))[:, None] * rate
    plane = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([plane.real, plane.imag], -1)


@pytest.mark.parametrize("start", [0, 3])
def test_rotary_positions_multiply_queries_and_keys_by_complex_numbers(start: int) -> None:
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(RotaryPositions(9, 8)(x, start, 5), turned(x, start), atol=1e-6, rtol=1e-6)


def test_the_gradient_of_rotary_positions_is_that_of_the_formula() -> None:
    x = torch.randn(2, 4, 3, 8, dtype=torch.float64, requires_grad=True)
    heads = x.transpose(1, 2)  # not contiguous, as heads are
    assert torch.autograd.gradcheck(lambda x: RotaryPositions(9, 8)(x, 2, 4), heads)
