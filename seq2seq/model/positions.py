"""Positions tell the model where a token stands, because attention itself ignores order.

Sinusoidal and learned positions are added to the embeddings. Rotary positions turn the queries and keys of
self-attention.

Shapes: L positions, D d_model, K d_head
"""

from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.errors import UserError
from seq2seq.plugins import POSITIONS


def sinusoids(max_length: int, d_model: int) -> Tensor:
    """The table of Vaswani et al. 2017, section 3.5; (max_length, D).

    PE(pos, 2i)     = sin(pos / 10000^(2i / D))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / D))
    """
    # In float32, the sine of an angle at position 1000 is already wrong in the fourth decimal.
    position = torch.arange(max_length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (L, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()  # (L, D/2, 2) -> (L, D)


class AddedPositions(nn.Module):
    """A table of vectors, (max_length, D), that are added to embeddings."""

    table: Tensor

    def forward(self, start: int, length: int) -> Tensor:
        """Rows of `length` positions from `start` on; (length, D)."""
        return rows(self.table, start, length)


class SinusoidalPositions(AddedPositions):
    """Computed, not learned. Checkpoints do not hold them."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_length, d_model), persistent=False)


class LearnedPositions(AddedPositions):
    """One trained vector for each position (row (E) of the paper's table 3)."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_length, d_model) * d_model**-0.5)


class NoPositions(AddedPositions):
    """Zeros: positions are rotary, or there are none, and a source is a set of tokens."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(max_length, d_model), persistent=False)


# By `model.positions`, what is added to embeddings. Rotary positions are part of the attention (`layers.py`).
ADDED_POSITIONS: dict[str, type[AddedPositions]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "rotary": NoPositions,
    "none": NoPositions,
}


def added_positions(config: ModelConfig, width: int) -> AddedPositions:
    """What `model.positions` adds to embeddings of this width: built in, or of a plugin."""
    kind = ADDED_POSITIONS.get(config.positions) or POSITIONS[config.positions]
    return kind(config.max_length, width)


class RotaryPositions(nn.Module):
    """Turn queries and keys by angles in proportion to their positions (Su et al. 2021, "RoFormer").

    The product of a query and a key then depends on how far apart they are, not on where they stand. Number i of the
    first half of a head and number i of its second half span a plane. That plane turns by pos / 10000^(2i / K).
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, max_length: int, d_head: int) -> None:
        super().__init__()
        sin, cos = sinusoids(max_length, d_head).view(max_length, -1, 2).unbind(-1)  # (L, K/2) each
        self.register_buffer("cos", torch.cat([cos, cos], -1), persistent=False)
        self.register_buffer("sin", torch.cat([-sin, sin], -1), persistent=False)

    def forward(self, x: Tensor, start: int, length: int) -> Tensor:
        """Turn queries or keys, (..., L, K).

        Args:
            start: position of the first token.
            length: L if the tokens stand at positions from `start` on; 1 if all of them stand at `start`.
        """
        cos, sin = (rows(table, start, length).to(x.dtype) for table in (self.cos, self.sin))
        turned: Tensor = _Turn.apply(x, cos, sin)  # type: ignore[no-untyped-call]
        return turned


class _Turn(torch.autograd.Function):
    """The gradient of a turn is the turn back. Without this class, autograd takes nearly twice as long."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turned(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        return _turned(grad, cos, -sin), None, None


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turned = x.clone(memory_format=torch.contiguous_format)
    across = turned.roll(x.size(-1) // 2, -1)  # the other number of each plane
    return turned.mul_(cos).addcmul_(across, sin)


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
