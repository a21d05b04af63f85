"""Grouped queries: several heads of queries share one head of keys and values (Ainslie et al. 2023).

With one group for all heads it is multi-query attention (Shazeer 2019). A search then stores and reads less.

Shapes: B sentences, H n_heads, G groups, R = H / G heads of a group, T queries, S keys, K width
"""

from torch import Tensor

from seq2seq.model.attend import Attend


class GroupedQueries:
    """Around another way to attend: it sees the heads of a group as one head with R times as many queries.

    So no key and no value is copied. Keys and values that have as many heads as the queries are no groups.
    """

    def __init__(self, attend: Attend) -> None:
        self.attend = attend

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float, *, is_causal: bool = False
    ) -> Tensor:
        if k.size(1) == q.size(1):
            return self.attend(q, k, v, mask, p_dropout, is_causal=is_causal)
        outputs = self.attend(*_as_one_head(q, k, v, mask), p_dropout)
        return outputs.reshape(*q.shape[:3], -1)  # (B, G, R T, K) -> (B, H, T, K)

    def with_weights(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float) -> tuple[Tensor, Tensor]:
        outputs, weights = self.attend.with_weights(*_as_one_head(q, k, v, mask), p_dropout)
        return outputs.reshape(*q.shape[:3], -1), weights.reshape(*q.shape[:3], -1)


def repeated(x: Tensor, n_heads: int) -> Tensor:
    """Keys or values for each head of queries: (B, G, S, K) -> (B, H, S, K)."""
    n_groups = x.size(1)
    if n_groups == n_heads:
        return x
    return x.unsqueeze(2).expand(-1, -1, n_heads // n_groups, -1, -1).flatten(1, 2)  # (B, G, R, S, K) -> (B, H, S, K)


def _as_one_head(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The queries of a group one after the other, (B, G, R T, K), and the rows of the mask as often."""
    sentences, n_heads, _, d_head = q.shape
    if mask.size(-2) > 1:  # one row is for all queries
        mask = mask.repeat(*[1] * (mask.dim() - 2), n_heads // k.size(1), 1)
    return q.reshape(sentences, k.size(1), -1, d_head), k, v, mask
