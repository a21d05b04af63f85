"""Position-wise feed-forward networks (Vaswani et al. 2017, section 3.3, and two later variants).

Shapes: B sentences, T tokens, D d_model, F d_ff
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.model.dropout import Dropout
from seq2seq.model.stacked import StackedLinear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, equation 2 of the paper; or GELU (Hendrycks & Gimpel 2016) for the maximum."""

    def __init__(self, d_model: int, d_ff: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.to_hidden = nn.Linear(d_model, d_ff)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        self.to_out = nn.Linear(d_ff, d_model)
        for linear in (self.to_hidden, self.to_out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        hidden = self.activation(self.to_hidden(x))  # (B, T, F)
        return self.to_out(self.dropout(hidden))


class SwiGLU(nn.Module):
    """(swish(x W) * x V) W2, without biases (Shazeer 2020).

    It has three matrices in place of two. With two thirds of the d_ff it has as many parameters as `FeedForward`.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.to_gate_and_value = StackedLinear(d_model, [d_ff, d_ff])
        self.dropout = Dropout(dropout)
        self.to_out = StackedLinear(d_ff, [d_model])

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        gate, value = self.to_gate_and_value(x).chunk(2, dim=-1)  # (B, T, F) each
        return self.to_out(self.dropout(F.silu(gate) * value))
