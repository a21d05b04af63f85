"""What tells the model where a token stands: added to embeddings, since attention itself ignores order.

Shapes: L positions, D d_model
"""

import torch
from torch import Tensor, nn

from seq2seq.errors import UserError


def sinusoids(max_length: int, d_model: int) -> Tensor:
    """The table of Vaswani et al. 2017, section 3.5; (max_length, D).

    PE(pos, 2i)     = sin(pos / 10000^(2i / D))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / D))
    """
    # float64: at position 1000, a float32 angle is already off in the fourth decimal of its sine.
    position = torch.arange(max_length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (L, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()  # (L, D/2, 2) -> (L, D)


class SinusoidalPositions(nn.Module):
    """Computed, not learned, and so in no checkpoint."""

    table: Tensor

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_length, d_model), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Rows of `length` positions from `start` on; (length, D)."""
        return rows(self.table, start, length)


class LearnedPositions(nn.Module):
    """One trained vector a position (row (E) of the paper's table 3)."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_length, d_model) * d_model**-0.5)

    def forward(self, start: int, length: int) -> Tensor:
        """Rows of `length` positions from `start` on; (length, D)."""
        return rows(self.table, start, length)


def rows(table: Tensor, start: int, length: int) -> Tensor:
    check_length(start + length, len(table))
    return table[start : start + length]


def check_length(length: int, max_length: int) -> None:
    """Raises:
    UserError: a sequence is longer than the model has positions.
    """
    if length > max_length:
        raise UserError(
            f"a sequence of {length} tokens is longer than model.max_length={max_length}; "
            "split or shorten it, or train with a larger model.max_length"
        )
