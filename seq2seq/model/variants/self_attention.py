"""Self-attention within a pattern.

Shapes: B sentences, T tokens, H n_heads, D d_model
"""

import torch
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.model.attention import Attend, SelfAttention
from seq2seq.model.masks import additive
from seq2seq.model.variants.blocks import attend_in_blocks, block_size
from seq2seq.model.variants.patterns import Pattern, Window, may_attend

# Up to so many blocks, the mask is faster. In bf16 training on a CPU, mask and blocks take the same time at
# 190 tokens for windows up to 32, and at 300 for a window of 64.
SHORT = 4


class PatternedSelfAttention(SelfAttention):
    """Self-attention to some of the tokens. In a step of a search, the mask already knows the pattern."""

    def __init__(self, config: ModelConfig, attend: Attend, pattern: Pattern) -> None:
        super().__init__(config, attend)
        self.pattern = pattern

    def forward(
        self, x: Tensor, mask: Tensor, *, is_causal: bool = False, weights: list[Tensor] | None = None
    ) -> Tensor:
        """As of `SelfAttention`, but the pattern hides the future itself.

        Args:
            mask: the same for all queries, (B, 1, 1, T) or (1, T): it says which tokens are padding.
        """
        length = x.size(1)
        q, k, v = self.heads(x, 0, length)
        if isinstance(self.pattern, Window) and weights is None and length > SHORT * block_size(self.pattern.reach):
            blocks = attend_in_blocks(
                self.attend, q, k, v, mask, self.pattern.reach, self.p_dropout, is_causal=is_causal
            )
            return self.mix(blocks)
        mask = torch.minimum(mask, additive(may_attend(self.pattern, length, x.device, is_causal=is_causal)))
        return self.mix(self.attend(q, k, v, mask, self.p_dropout, weights=weights))
