"""Positions and an attention of your own: `plugins=[plugin] model.positions=weighted model.attention=distances`.

Copy it to a folder that is on Python's path, and change it. docs/python.md says what is called with what.
"""

import torch
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.positions import rows, sinusoids
from seq2seq.model.variants.scores import Explicit, hard, soft
from seq2seq.plugins import ATTENTIONS, POSITIONS


class WeightedSinusoids(nn.Module):
    """Sines and cosines, each with a weight that is learned."""

    table: Tensor

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_length, d_model), persistent=False)
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, start: int, length: int) -> Tensor:
        return rows(self.table, start, length) * self.weight  # (length, D)


class Distances(nn.Module):
    """The nearer a key is to the query, the larger is its score (Kim et al. 2021)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.scale = 1 / (config.temperature * config.d_k**0.5)

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        return self.scale * (q @ k.transpose(-2, -1) - k.square().sum(-1).unsqueeze(-2) / 2)  # (B, H, T, S)


POSITIONS["weighted"] = WeightedSinusoids
ATTENTIONS["distances"] = lambda config: Explicit(Distances(config), hard if config.hard_attention else soft)
