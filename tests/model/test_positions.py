import math

import pytest
import torch

from seq2seq.errors import UserError
from seq2seq.model.positions import LearnedPositions, SinusoidalPositions, check_length


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


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_a_later_start_gives_later_rows(kind: type) -> None:
    positions = kind(7, 12)
    assert torch.equal(positions(2, 5), positions(0, 7)[2:])


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_a_sequence_beyond_the_table_is_refused_by_name(kind: type) -> None:
    with pytest.raises(UserError, match=r"8 tokens .* model.max_length=7"):
        kind(7, 12)(3, 5)
    check_length(7, 7)
