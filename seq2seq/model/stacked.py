"""Several projections of one input, computed as one product."""

from torch import nn


class StackedLinear(nn.Linear):
    """n projections D -> E without biases: (B, T, D) -> (B, T, n E). Each is initialised for its own size."""

    def __init__(self, n: int, d_in: int, d_out: int) -> None:
        super().__init__(d_in, n * d_out, bias=False)
        self.n = n
        for weight in self.weight.chunk(n):
            nn.init.xavier_uniform_(weight)
