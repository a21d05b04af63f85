"""Matrix products in the order that is fastest.

Shapes: T queries, S keys, K d_head
"""

import torch
from torch import Tensor


def queries_by_keys(q: Tensor, k: Tensor) -> Tensor:
    """q k^T: each query's product with each key; (..., T, K) and (..., S, K) to (..., T, S).

    A step of a search has few queries and many keys. In bf16 it is then up to four times as fast to compute k q^T.
    """
    if q.dtype == torch.bfloat16 and 4 * q.size(-2) <= k.size(-2):
        return (k @ q.transpose(-2, -1)).transpose(-2, -1)
    return q @ k.transpose(-2, -1)
