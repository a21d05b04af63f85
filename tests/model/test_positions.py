import math

import pytest
import torch

from seq2seq.errors import UserError
from seq2seq.model.positions import LearnedPositions, RotaryPositions, SinusoidalPositions, check_length


@pytest.mark.parametrize(("position", "i"), [(0, 0), (1, 0), (1, 1), (7, 2), (50, 5), (999, 3)])
def test_sinusoids_follow_the_formula_of_section_3_5(position: int, i: int) -> None:
    row = SinusoidalPositions(1000, 12)(position, 1)[0]
    angle = position / 10000 ** (2 * i / 12)
    assert row[2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
    assert row[2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_sinusoids_are_in_no_checkpoint() -> None:
    positions = SinusoidalPositions(7, 12)
    assert not positions.state_dict()
    assert not list(positions.parameters())


def test_a_later_start_gives_later_rows() -> None:
    positions = LearnedPositions(7, 12)
    assert torch.equal(positions(2, 5), positions(0, 7)[2:])


def test_a_sequence_beyond_the_table_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"8 tokens .* model.max_length=7"):
        LearnedPositions(7, 12)(3, 5)
    check_length(7, 7)


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


def test_rotary_positions_of_one_place_turn_all_alike() -> None:
    x = torch.randn(3, 2, 5, 8)
    rotary = RotaryPositions(9, 8)
    expected = torch.cat([rotary(x[:, :, i : i + 1], 6, 1) for i in range(5)], 2)
    torch.testing.assert_close(rotary(x, 6, 1), expected)


def test_rotary_positions_beyond_the_table_are_refused() -> None:
    with pytest.raises(UserError, match=r"10 tokens .* model.max_length=9"):
        RotaryPositions(9, 8)(torch.randn(3, 5, 8), 5, 5)
    assert not RotaryPositions(9, 8).state_dict()
