"""What heads do with their queries, keys and values.

Shapes: T queries, S keys
"""

from typing import Protocol

from torch import Tensor


class Attend(Protocol):
    """From queries, keys and values to outputs. Arguments and results are those of the functions in `attention.py`."""

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float, *, is_causal: bool = False
    ) -> Tensor:
        """The outputs, by the fastest way."""

    def with_weights(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float) -> tuple[Tensor, Tensor]:
        """The same outputs, and their weights (..., T, S)."""
