"""Grouped queries: several heads of queries share one head of keys and values (Ainslie et al. 2023).

With one group for all heads it is multi-query attention (Shazeer 2019). A search then stores and reads less.

Shapes: B sentences, H n_heads, G groups, R = H / G heads of a group, T queries, S keys, K width
"""

from torch import Tensor

from seq2seq.model.attention import Attend


class GroupedQueries:
    """Around another way to attend: it sees the heads of a group as one head with R times as many queries.

    So no key and no value is copied. Only where a whole sequence attends to itself, which kernels for as many heads of
    keys as of queries do faster, they are.
    """

    def __init__(self, attend: Attend) -> None:
        self.attend = attend

    def __call__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor,
        p_dropout: float,
        *,
        is_causal: bool = False,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        if q.size(-2) == k.size(-2):
            k, v = repeated(k, q.size(1)), repeated(v, q.size(1))
            return self.attend(q, k, v, mask, p_dropout, is_causal=is_causal, weights=weights)
        grouped: list[Tensor] | None = None if weights is None else []
        outputs = self.attend(*_as_one_head(q, k, v, mask), p_dropout, weights=grouped)
        if weights is not None:
            weights += [each.reshape(*q.shape[:3], -1) for each in grouped or ()]  # (B, G, R T, S) -> (B, H, T, S)
        return outputs.reshape(*q.shape[:3], -1)  # (B, G, R T, K) -> (B, H, T, K)


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
