"""A tiny batch, and the loss as torch computes it.

Shapes: B 3, T 5, D 7, V 12
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.vocabulary import PAD


def example(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    hidden = torch.randn(3, 5, 7, dtype=dtype, requires_grad=True)
    weight = torch.randn(12, 7, dtype=dtype, requires_grad=True)
    tgt_out = torch.randint(1, 12, (3, 5))
    tgt_out[0, 3:] = tgt_out[2, 4:] = PAD
    return hidden, weight, tgt_out


def reference(hidden: Tensor, weight: Tensor, tgt_out: Tensor, eps: float) -> Tensor:
    logits = (hidden @ weight.T).flatten(0, 1)
    return F.cross_entropy(logits, tgt_out.flatten(), label_smoothing=eps, ignore_index=PAD, reduction="sum")
