"""Attention within a window, with time and memory in proportion to the length.

The queries are cut into blocks at least as long as the window. All keys that a block may attend to are then in the same
block and in the ones beside it. So a block of queries attends to two or three blocks of keys, and a mask takes away
what is outside the window.

Shapes: B sentences, H n_heads, T tokens, n blocks, E tokens in a block, R blocks of keys for each, K d_head
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.model.attention import Attend
from seq2seq.model.masks import HIDDEN, additive

_SHORTEST = 32  # smaller products would take as long


def block_size(w: int) -> int:
    """E for a window of w tokens on each side. GPUs want a multiple of 8."""
    return max(_SHORTEST, -(-w // 8) * 8)


def attend_in_blocks(
    attend: Attend, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, w: int, p_dropout: float, *, is_causal: bool
) -> Tensor:
    """What `attend` gives if each token attends to those up to w tokens away; (B, H, T, K).

    Args:
        mask: the same for all queries; broadcast to (B, 1, 1, T).
        is_causal: whether a token attends to none behind it.
    """
    sentences, length, size = len(q), q.size(-2), block_size(w)
    n, n_beside = -(-length // size), 2 if is_causal else 3
    q = F.pad(q, (0, 0, 0, n * size - length))
    keys = mask.expand(sentences, 1, 1, -1).transpose(-2, -1)  # (B, 1, T, 1)
    outside = additive(_is_inside(size, n_beside, w, q.device, is_causal=is_causal))
    heads = attend(
        q.unflatten(2, (n, size)).transpose(1, 2).flatten(0, 1),  # (B n, H, E, K)
        _beside(k, n, size, n_beside),
        _beside(v, n, size, n_beside),
        torch.minimum(_beside(keys, n, size, n_beside, HIDDEN).transpose(-2, -1), outside),  # (B n, 1, E, R E)
        p_dropout,
    )
    heads = heads.unflatten(0, (sentences, n)).transpose(1, 2).flatten(2, 3)  # (B n, H, E, K) -> (B, H, n E, K)
    return heads[:, :, :length]


def _beside(x: Tensor, n: int, size: int, n_beside: int, padding: float = 0.0) -> Tensor:
    """For each block the one before it, itself, and perhaps the one after it: (B, H, T, K) -> (B n, H, R E, K)."""
    x = F.pad(x, (0, 0, size, (n + n_beside - 2) * size - x.size(2)), value=padding)
    blocks = [x.narrow(2, i * size, n * size).unflatten(2, (n, size)) for i in range(n_beside)]  # (B, H, n, E, K)
    return torch.cat(blocks, 3).transpose(1, 2).flatten(0, 1)


def _is_inside(size: int, n_beside: int, w: int, device: torch.device, *, is_causal: bool) -> Tensor:
    """True where a query of a block may attend to a key beside it, as far as the window goes; (E, R E)."""
    queries = torch.arange(size, 2 * size, device=device)  # counted from the first key, as are the keys
    distance = queries[:, None] - torch.arange(n_beside * size, device=device)
    is_near = distance.abs() <= w
    return is_near & (distance >= 0) if is_causal else is_near
