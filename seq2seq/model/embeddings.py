"""Token ids to vectors, and vectors to logits.

Shapes: B sentences, L tokens, D width, V vocabulary
"""

import torch
from torch import Tensor, nn

# The paper's section 3.4 shares one table between the three uses: source, target, output.
TABLES = {
    "shared": ("shared", "shared", "shared"),
    "decoder": ("source", "target", "target"),
    "separate": ("source", "target", "output"),
}


class Embeddings(nn.Module):
    """The (V, D) tables of source, target and output. Several of them may be one shared table.

    A shared table has one name in a checkpoint.

    Args:
        d_source: width of the table of the source, which is that of the encoder.
        d_target: width of the other tables.
    """

    def __init__(self, sharing: str, vocab_size: int, d_source: int, d_target: int) -> None:
        super().__init__()
        self._source, self._target, self._output = TABLES[sharing]
        widths = {self._output: d_target, self._target: d_target, self._source: d_source}
        # The variance is 1/D. The input is multiplied by sqrt(D), so both the input and the logits have variance 1.
        self.tables = nn.ParameterDict(
            {
                name: nn.Parameter(torch.randn(vocab_size, widths[name]) * widths[name] ** -0.5)
                for name in TABLES[sharing]
            }
        )

    @property
    def source(self) -> Tensor:
        return self.tables[self._source]

    @property
    def target(self) -> Tensor:
        return self.tables[self._target]

    @property
    def output(self) -> Tensor:
        return self.tables[self._output]
