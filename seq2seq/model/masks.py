"""Who may attend to whom.

Shapes: B sentences, T queries, S keys
"""

import torch
from torch import Tensor

from seq2seq.vocabulary import PAD

# exp(-30000) is 0 in every type. Being finite, also in float16, it gives no NaN to a query that may attend to nothing.
HIDDEN = -3e4


def is_pad(ids: Tensor) -> Tensor:
    """True where a batch was filled up to its longest sentence; same shape as `ids`."""
    return ids == PAD


def may_attend_to(ids: Tensor) -> Tensor:
    """True for the keys that are tokens: (B, S) -> (B, 1, 1, S), for every head and query."""
    return ~is_pad(ids)[:, None, None, :]


def causal(length: int, device: torch.device) -> Tensor:
    """True where query t may attend to key s, which is s <= t: (T, T).

    It hides padding on the right as well: what follows a sentence's last token is after all its queries.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def additive(may_attend: Tensor) -> Tensor:
    """What to add to attention scores: 0 where True, and a number that softmax turns into 0 where False."""
    return torch.zeros_like(may_attend, dtype=torch.float32).masked_fill_(~may_attend, HIDDEN)
