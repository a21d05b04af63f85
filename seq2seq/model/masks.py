"""Who may attend to whom.

Shapes: B sentences, T queries, S keys
"""

import torch
from torch import Tensor

from seq2seq.vocabulary import PAD

# exp(-30000) is 0 in every type. -30000 is finite, also in float16, so a query that may attend to nothing gets no NaN.
HIDDEN = -3e4


def is_pad(ids: Tensor) -> Tensor:
    """True where a sentence was padded to the length of the longest one; same shape as `ids`."""
    return ids == PAD


def may_attend_to(ids: Tensor) -> Tensor:
    """True for the keys that are tokens: (B, S) -> (B, 1, 1, S), for every head and query."""
    return ~is_pad(ids)[:, None, None, :]


def causal(length: int, device: torch.device) -> Tensor:
    """True where query t may attend to key s, which is s <= t: (T, T).

    It hides padding too, because padding stands after all tokens of a sentence.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def additive(may_attend: Tensor) -> Tensor:
    """What to add to attention scores: 0 where True, and where False a number that softmax turns into 0."""
    return torch.zeros_like(may_attend, dtype=torch.float32).masked_fill_(~may_attend, HIDDEN)
