"""Multi-head attention (Vaswani et al. 2017, section 3.2).

Shapes: B sentences, T queries, S keys, D d_model, H n_heads, G n_kv_heads, K d_head, V d_value
"""

import math
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.cache import KeyValueCache
from seq2seq.model.dropout import dropout
from seq2seq.model.positions import RotaryPositions

# On a CPU, plain products are faster than torch's fused kernel up to this length. In bf16 training they are 6 times as
# fast at 20 tokens and twice as fast at 256; in float32 the two are about equal. For longer sentences memory counts:
# the fused kernel never holds all weights at once.
LONGEST_EXPLICIT = 256


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float = 0.0, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(q k^T / sqrt(K) + mask) v, equation 1 of the paper.

    Args:
        q: (..., T, K); k: (..., S, K); v: (..., S, V).
        mask: float32, 0 or hugely negative, broadcast to (..., T, S); see `masks.additive`.
        scale: in place of 1 / sqrt(K).
    Returns:
        outputs (..., T, V) and weights (..., T, S), whose rows sum to 1.
    """
    if scale is None:
        scale = 1 / math.sqrt(q.size(-1))
    scores = torch.add(mask, queries_by_keys(q, k), alpha=scale)  # q k^T / sqrt(K) + mask
    weights = scores.softmax(-1)  # in float32, like the mask: more exact than bf16 and, on CPUs, several times as fast
    return dropout(weights, p_dropout).to(v.dtype) @ v, weights


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    p_dropout: float,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    weights: list[Tensor] | None = None,
) -> Tensor:
    """The outputs of `scaled_dot_product_attention`, by the fastest way.

    Args:
        is_causal: `mask` is that of `masks.causal`, for T = S. Flash kernels on GPUs know it, and take no other mask.
        weights: takes the weights (..., T, S) too, for pictures and alignments.
    """
    is_short = q.device.type == "cpu" and q.size(-2) * k.size(-2) <= LONGEST_EXPLICIT**2
    if is_short or weights is not None:
        outputs, computed = scaled_dot_product_attention(q, k, v, mask, p_dropout, scale)
        if weights is not None:
            weights.append(computed)
        return outputs
    if is_causal:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p_dropout, scale=scale)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype), dropout_p=p_dropout, scale=scale)


class Attend(Protocol):
    """What the heads do: `attention`, or one of the variants in `variants/`."""

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
    ) -> Tensor: ...


class MultiHeadAttention(nn.Module):
    """What self-attention and cross-attention share: projections to several heads, and that of their outputs.

    In the paper, projections have no biases, and there are as many heads of keys and values as of queries.

    Args:
        d_memory: width of what keys and values are made from.
        attend: what the heads do.
    """

    def __init__(self, config: ModelConfig, d_memory: int, attend: Attend) -> None:
        super().__init__()
        self.n_heads, self.n_groups = config.n_heads, config.n_groups
        self.dropout = config.attention_dropout
        self.attend = attend
        self.to_q = linear(config.d_model, config.n_heads * config.d_k, bias=config.bias)
        self.to_k = linear(d_memory, config.n_groups * config.d_k, bias=config.bias)
        self.to_v = linear(d_memory, config.n_groups * config.d_v, bias=config.bias)
        self.to_out = linear(config.n_heads * config.d_v, config.d_model, bias=config.bias)

    @property
    def p_dropout(self) -> float:
        """The probability with which a weight is dropped now."""
        return self.dropout if self.training else 0.0

    def mix(self, heads: Tensor) -> Tensor:
        """The outputs of all heads, (B, H, T, V) -> (B, T, D)."""
        return self.to_out(heads.transpose(1, 2).flatten(2))


class SelfAttention(MultiHeadAttention):
    """Queries, keys and values come from one sequence."""

    def __init__(self, config: ModelConfig, attend: Attend = attention) -> None:
        super().__init__(config, config.d_model, attend)
        self.rotary = RotaryPositions(config.max_length, config.d_k) if config.positions == "rotary" else None

    def forward(
        self, x: Tensor, mask: Tensor, *, is_causal: bool = False, weights: list[Tensor] | None = None
    ) -> Tensor:
        """x: (B, T, D); mask: broadcast to (B, H, T, T); is_causal, weights: as in `attention`. Returns (B, T, D)."""
        q, k, v = self.heads(x, 0, x.size(1))
        return self.mix(self.attend(q, k, v, mask, self.p_dropout, is_causal=is_causal, weights=weights))

    def step(self, x: Tensor, past: KeyValueCache, place: int, position: int, mask: Tensor) -> Tensor:
        """Attend from the newest token of each hypothesis, x (B, N, D), to all tokens in `past`.

        The newest tokens are first added to `past`.

        Args:
            place: where in `past` they go.
            position: where in their sentences they stand.
            mask: broadcast to (B, H, N, P), where P counts the tokens of `past` with the new ones.
        """
        q, k, v = self.heads(x, position, 1)
        return self.mix(self.attend(q, *past.write(k, v, place, mask.size(-1)), mask, self.p_dropout))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of all heads side by side. A search joins them (engines/pytorch.py)."""
        return self.to_q(x), self.to_k(x), self.to_v(x)

    def heads(self, x: Tensor, position: int, n_positions: int) -> tuple[Tensor, Tensor, Tensor]:
        """(B, L, D) -> (B, H, L, K), (B, G, L, K), (B, G, L, V). Rotary positions are applied to the first two."""
        q, k, v = self.project(x)
        q, k, v = split_heads(q, self.n_heads), split_heads(k, self.n_groups), split_heads(v, self.n_groups)
        if self.rotary is not None:
            q, k = (self.rotary(x, position, n_positions) for x in (q, k))
        return q, k, v


class CrossAttention(MultiHeadAttention):
    """Queries come from the decoder, keys and values from the encoder's output."""

    def __init__(self, config: ModelConfig, attend: Attend = attention) -> None:
        super().__init__(config, config.d_memory, attend)

    def forward(
        self, x: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor, weights: list[Tensor] | None = None
    ) -> Tensor:
        """x: (B, T, D); memory: what `keys_values` made; mask: broadcast to (B, H, T, S). Returns (B, T, D)."""
        return self.mix(
            self.attend(split_heads(self.to_q(x), self.n_heads), *memory, mask, self.p_dropout, weights=weights)
        )

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (B, G, S, K) and values (B, G, S, V), computed once for all target tokens.

        Args:
            memory: (B, S, width of the encoder).
        """
        k, v = self.to_k(memory), self.to_v(memory)
        # If they were not contiguous, each product would copy them.
        return split_heads(k, self.n_groups).contiguous(), split_heads(v, self.n_groups).contiguous()


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, L, H K) -> (B, H, L, K)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def queries_by_keys(q: Tensor, k: Tensor) -> Tensor:
    """q k^T: each query's product with each key; (..., T, K) and (..., S, K) to (..., T, S).

    A step of a search has few queries and many keys. In bf16 it is then up to four times as fast to compute k q^T.
    """
    if q.dtype == torch.bfloat16 and 4 * q.size(-2) <= k.size(-2):
        return (k @ q.transpose(-2, -1)).transpose(-2, -1)
    return q @ k.transpose(-2, -1)


def linear(d_in: int, d_out: int, *, bias: bool = False) -> nn.Linear:
    """A projection whose weights begin as in Glorot and Bengio (2010), and whose bias begins at 0."""
    projection = nn.Linear(d_in, d_out, bias=bias)
    nn.init.xavier_uniform_(projection.weight)
    if bias:
        nn.init.zeros_(projection.bias)
    return projection
