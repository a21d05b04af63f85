"""Token ids to vectors, and vectors to logits.

Shapes: B sentences, L tokens, D d_model, V vocabulary
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
    """The (V, D) tables of source, target and output, some of which may be one and the same.

    Each table has one name in a checkpoint, however often it is used.
    """

    def __init__(self, sharing: str, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self._source, self._target, self._output = TABLES[sharing]
        # Multiplied by sqrt(D) on the way in, these have unit variance; as output weights, so have the logits.
        self.tables = nn.ParameterDict(
            {name: nn.Parameter(torch.randn(vocab_size, d_model) * d_model**-0.5) for name in TABLES[sharing]}
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
