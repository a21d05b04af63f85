"""Which tokens of a sequence attend to which others, chosen by how far away they are.

    window w    up to w tokens away (Beltagy et al. 2020, "Longformer")
    stride l    fewer than l tokens away, and every l-th (Child et al. 2019, "Sparse Transformers", section 4.2)

In the encoder that is to both sides. In the decoder, tokens look back only, as in the second paper.

Shapes: T tokens
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.config import ModelConfig


@dataclass(frozen=True)
class Strided:
    """The tokens fewer than `stride` away, and every one of so many. It is a mask, and saves no time."""

    stride: int
    reach = math.inf  # no token attends to one that is farther away

    def allows(self, distance: Tensor) -> Tensor:
        """True where a token may attend to one that stands so many tokens before it; below 0: behind it."""
        return (distance.abs() < self.stride) | (distance % self.stride == 0)


@dataclass(frozen=True)
class Window:
    """The tokens up to `reach` away. Time and memory grow with the length, not with its square."""

    reach: int

    def allows(self, distance: Tensor) -> Tensor:
        """As for `Strided`."""
        return distance.abs() <= self.reach


Pattern = Strided | Window


def pattern(config: ModelConfig) -> Pattern | None:
    """The choice of `model.window` and `model.stride`; None: each token attends to all."""
    if config.window:
        return Window(config.window)
    return Strided(config.stride) if config.stride else None


def may_attend(pattern: Pattern, length: int, device: torch.device, *, is_causal: bool) -> Tensor:
    """True where query t may attend to key s: (T, T). A causal pattern hides the future too."""
    tokens = torch.arange(length, device=device)
    distance = tokens[:, None] - tokens
    allowed = pattern.allows(distance)
    return allowed & (distance >= 0) if is_causal else allowed
