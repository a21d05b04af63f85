"""Several projections of one input, computed as one product."""

from collections.abc import Sequence

from torch import nn


class StackedLinear(nn.Linear):
    """Projections of D numbers to several widths E1, E2, ...: (B, T, D) -> (B, T, E1 + E2 + ...).

    Each is initialised for its own size. Biases, if there are any, begin at 0.
    """

    def __init__(self, d_in: int, widths: Sequence[int], *, bias: bool = False) -> None:
        super().__init__(d_in, sum(widths), bias=bias)
        self.widths = list(widths)
        for weight in self.weight.split(self.widths):
            nn.init.xavier_uniform_(weight)
        if bias:
            nn.init.zeros_(self.bias)
