"""Self-attention to some of the tokens, chosen by how far away they are.

    window w    up to w tokens away (Beltagy et al. 2020, "Longformer")
    stride l    fewer than l tokens away, and every l-th (Child et al. 2019, "Sparse Transformers", section 4.2)

In the encoder that is to both sides. In the decoder, tokens look back only, as in the second paper.

Shapes: T tokens, H n_heads, K d_head
"""

import math
from typing import Protocol

import torch
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.model.attend import Attend
from seq2seq.model.blocks import attend_in_blocks, block_size
from seq2seq.model.masks import additive

# Up to so many blocks, the mask is faster. In bf16 training on a CPU, mask and blocks take the same time at
# 190 tokens for windows up to 32, and at 300 for a window of 64.
SHORT = 4


class Pattern(Protocol):
    """Which tokens attend to which, if the mask lets them."""

    reach: float  # no token attends to one that is farther away

    def allows(self, distance: Tensor) -> Tensor:
        """True where a token may attend to one that stands so many tokens before it; below 0: behind it."""

    def around(self, attend: Attend, *, is_causal: bool) -> Attend:
        """Attention of a whole sequence to itself within the pattern. It hides the future itself, without the mask.

        Its mask must be the same for all queries: it says which tokens are padding.
        """


class Strided:
    """The tokens fewer than l away, and every l-th. It is a mask, and saves no time."""

    reach = math.inf

    def __init__(self, stride: int) -> None:
        self.stride = stride

    def allows(self, distance: Tensor) -> Tensor:
        return (distance.abs() < self.stride) | (distance % self.stride == 0)

    def around(self, attend: Attend, *, is_causal: bool) -> Attend:
        return _Within(self, attend, is_causal=is_causal)


class Window:
    """The tokens up to w away. Time and memory grow with the length, not with its square."""

    def __init__(self, w: int) -> None:
        self.w = w
        self.reach: float = w

    def allows(self, distance: Tensor) -> Tensor:
        return distance.abs() <= self.w

    def around(self, attend: Attend, *, is_causal: bool) -> Attend:
        return _WithinWindow(self, attend, is_causal=is_causal)


def pattern(config: ModelConfig) -> Pattern | None:
    """None: each token attends to all."""
    if config.window:
        return Window(config.window)
    return Strided(config.stride) if config.stride else None


class _Within:
    """Attention with what the pattern forbids masked."""

    def __init__(self, pattern: Pattern, attend: Attend, *, is_causal: bool) -> None:
        self.pattern, self.attend, self.is_causal = pattern, attend, is_causal

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float, *, is_causal: bool = False
    ) -> Tensor:
        return self.attend(q, k, v, self._mask(mask, q), p_dropout)

    def with_weights(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float) -> tuple[Tensor, Tensor]:
        return self.attend.with_weights(q, k, v, self._mask(mask, q), p_dropout)

    def _mask(self, mask: Tensor, q: Tensor) -> Tensor:
        tokens = torch.arange(q.size(-2), device=q.device)
        distance = tokens[:, None] - tokens  # (T, T)
        may_attend = self.pattern.allows(distance)
        return torch.minimum(mask, additive(may_attend & (distance >= 0) if self.is_causal else may_attend))


class _WithinWindow(_Within):
    """Long sequences go in blocks. For short ones, the mask is faster."""

    pattern: Window

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float, *, is_causal: bool = False
    ) -> Tensor:
        w = self.pattern.w
        if q.size(-2) <= SHORT * block_size(w):
            return super().__call__(q, k, v, mask, p_dropout)
        return attend_in_blocks(self.attend, q, k, v, mask, w, p_dropout, is_causal=self.is_causal)
