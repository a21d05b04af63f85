"""Scores and weights that stand beside those of equation 1.

A score says how well a key answers a query. Bahdanau et al. (2014) compute it by adding the two, Luong et al. (2015) by
a product without a scale. Beta multiplies all scores. It is the inverse of a temperature: 0 makes all weights equal,
and a large one leaves only the largest. Hard attention chooses that one and nothing else.

Shapes: B sentences, T queries, S keys, H n_heads, G n_kv_heads, K d_head, V d_value
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from seq2seq.model.attention import queries_by_keys
from seq2seq.model.dropout import dropout
from seq2seq.model.variants.groups import repeated


class Explicit(nn.Module):
    """to_weights(scores(q, k) + mask) v, for what no fast kernel computes. All weights are in memory at once.

    q: (B, H, T, K); k: (B, G, S, K); v: (B, G, S, V).
    """

    def __init__(self, scores: Callable[[Tensor, Tensor], Tensor], to_weights: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.scores = scores
        self.to_weights = to_weights

    def forward(
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
        k, v = repeated(k, q.size(1)), repeated(v, q.size(1))
        computed = self.to_weights(self.scores(q, k) + mask)  # in float32, like the mask
        if weights is not None:
            weights.append(computed)
        return dropout(computed, p_dropout).to(v.dtype) @ v


class MultipliedScores:
    """scale q k^T"""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, q: Tensor, k: Tensor) -> Tensor:
        return self.scale * queries_by_keys(q, k)


class AddedScores(nn.Module):
    """beta u . tanh(q + k) (Bahdanau et al. 2014, section A.1.2), with one vector u for each head.

    The two matrices of the paper are the projections that make q and k. Each pair of a query and a key takes K numbers
    where a product takes one.
    """

    def __init__(self, n_heads: int, d_head: int, beta: float) -> None:
        super().__init__()
        self.n_heads, self.beta = n_heads, beta
        self.u = nn.Parameter(torch.randn(n_heads * d_head) * d_head**-0.5)  # so that scores begin below 1

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        hidden = (q.unsqueeze(-2) + k.unsqueeze(-3)).tanh()  # (..., H, T, S, K)
        return self.beta * (hidden @ self.u.view(self.n_heads, 1, -1, 1)).squeeze(-1)  # (..., H, T, S)


def soft(scores: Tensor) -> Tensor:
    """Weights that sum to 1 over the keys; (..., T, S)."""
    return scores.softmax(-1)


def hard(scores: Tensor) -> Tensor:
    """Weight 1 for the key with the largest score, the first of them if several have it; 0 for all others.

    A choice has no gradient. It is given that of soft weights ("straight-through", Bengio et al. 2013).
    """
    chosen = torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
    if not scores.requires_grad:
        return chosen
    weights = soft(scores)
    return chosen + (weights - weights.detach())  # exactly 0 is added
