"""The left half of Figure 1 of Vaswani et al. 2017.

Shapes: B sentences, S source tokens, D width of the encoder
"""

from collections.abc import Sequence

from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.layers import EncoderLayer, final_norm


class Encoder(nn.Module):
    """Embedded source to memory. Each token has seen all the others."""

    layers: Sequence[EncoderLayer]

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        config = config.of_encoder
        layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.layers = layers  # type: ignore[assignment]  # a ModuleList has no type for its modules
        self.norm = final_norm(config)

    def forward(self, x: Tensor, mask: Tensor, weights: list[Tensor] | None = None) -> Tensor:
        """x: (B, S, D); mask: additive, (B, 1, 1, S); weights: as in `EncoderLayer`. Returns (B, S, D)."""
        for layer in self.layers:
            x = layer(x, mask, weights)
        return self.norm(x)
