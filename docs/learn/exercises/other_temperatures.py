"""Translate with attention that is softer or harder than in training:  half a minute"""

import torch
import torch.nn.functional as F
from demo import bleu
from torch import Tensor

from seq2seq.model import attention
from seq2seq.model.attention import scaled_dot_product_attention


def at(beta: float):
    """Equation 1, with scores that are multiplied by `beta` once more."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *rest: float | None) -> tuple[Tensor, Tensor]:
        return scaled_dot_product_attention(beta * q, k, v, mask, *rest)

    return attend


def hard(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *rest: float | None) -> tuple[Tensor, Tensor]:
    """All weight to the largest one."""
    _, weights = scaled_dot_product_attention(q, k, v, mask)
    weights = F.one_hot(weights.argmax(-1), weights.size(-1)).to(v.dtype)
    return weights @ v, weights


torch.manual_seed(0)
print("temperature     BLEU")
for beta in (0, 0.25, 0.5, 1, 2, 4):
    attention.scaled_dot_product_attention = at(beta)
    print(f"beta x {beta:<5} {bleu():7.1f}")
attention.scaled_dot_product_attention = hard
print(f"hard         {bleu():7.1f}")
