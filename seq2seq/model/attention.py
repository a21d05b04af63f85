"""Multi-head attention (Vaswani et al. 2017, section 3.2).

Shapes: B sentences, T queries, S keys, D d_model, H n_heads, G n_kv_heads, K d_head, V d_value
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.attend import Attend
from seq2seq.model.cache import KeyValueCache
from seq2seq.model.dropout import dropout
from seq2seq.model.groups import GroupedQueries, repeated
from seq2seq.model.patterns import Pattern, pattern
from seq2seq.model.positions import RotaryPositions
from seq2seq.model.products import queries_by_keys
from seq2seq.model.recording import open_recording
from seq2seq.model.scores import AddedScores, Explicit, MultipliedScores, hard, soft
from seq2seq.model.stacked import StackedLinear

# On a CPU, plain products are faster than torch's fused kernel up to this length. In bf16 training they are 6 times as
# fast at 20 tokens and twice as fast at 256; in float32 the two are about equal. For longer sentences memory counts:
# the fused kernel never holds all weights at once.
LONGEST_EXPLICIT = 256


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(q k^T / sqrt(K) + mask) v, equation 1 of the paper.

    Args:
        q: (..., T, K); k: (..., S, K); v: (..., S, V).
        mask: float32, 0 or hugely negative, broadcast to (..., T, S); see `masks.additive`.
    Returns:
        outputs (..., T, V) and weights (..., T, S), whose rows sum to 1.
    """
    scale = 1 / math.sqrt(q.size(-1))
    scores = torch.add(mask, queries_by_keys(q, k), alpha=scale)  # q k^T / sqrt(K) + mask
    weights = scores.softmax(-1)  # in float32, like the mask: more exact than bf16 and, on CPUs, several times as fast
    return dropout(weights, p_dropout).to(v.dtype) @ v, weights


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float, *, is_causal: bool = False) -> Tensor:
    """The outputs of `scaled_dot_product_attention`, by the fastest way.

    Args:
        is_causal: `mask` is that of `masks.causal`, for T = S. Flash kernels on GPUs know it, and take no other mask.
    """
    if q.device.type == "cpu" and q.size(-2) * k.size(-2) <= LONGEST_EXPLICIT**2:
        return scaled_dot_product_attention(q, k, v, mask, p_dropout)[0]
    if is_causal:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p_dropout)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype), dropout_p=p_dropout)


class DotProduct:
    """Equation 1, with scores that are `factor` times as large: softmax(factor q k^T / sqrt(K) + mask) v."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float, *, is_causal: bool = False
    ) -> Tensor:
        return attention(self._scaled(q), k, v, mask, p_dropout, is_causal=is_causal)

    def with_weights(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float) -> tuple[Tensor, Tensor]:
        return scaled_dot_product_attention(self._scaled(q), k, v, mask, p_dropout)

    def _scaled(self, q: Tensor) -> Tensor:
        return q if self.factor == 1 else q * self.factor


def attend(config: ModelConfig) -> Attend:
    """What the heads of a layer do: the choice of `model.attention`, `temperature` and `hard_attention`."""
    beta = 1 / config.temperature
    to_weights = hard if config.hard_attention else soft
    if config.attention == "additive":
        return Explicit(AddedScores(config.n_heads, config.d_k, beta), to_weights)
    factor = beta if config.attention == "scaled" else beta * math.sqrt(config.d_k)
    if config.hard_attention:
        return Explicit(MultipliedScores(factor / math.sqrt(config.d_k)), to_weights)
    return DotProduct(factor) if config.n_groups == config.n_heads else GroupedQueries(DotProduct(factor))


class MultiHeadAttention(nn.Module):
    """What self-attention and cross-attention share: several heads, and the projection of their outputs.

    In the paper, projections have no biases, and there are as many heads of keys and values as of queries.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.p_dropout = config.attention_dropout
        self.attend = attend(config)
        self.to_out = StackedLinear(config.n_heads * config.d_v, [config.d_model], bias=config.bias)

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, is_causal: bool = False, within: Pattern | None = None
    ) -> Tensor:
        """Attend with each head, then mix the outputs of the heads: (B, H, T, V) -> (B, T, D)."""
        p_dropout = self.p_dropout if self.training else 0.0
        attend = self.attend if within is None else within.around(self.attend, is_causal=is_causal)
        recording = open_recording()
        if recording is None:
            heads = attend(q, k, v, mask, p_dropout, is_causal=is_causal)
        else:
            heads, recording[self] = attend.with_weights(q, k, v, mask, p_dropout)
        return self.to_out(heads.transpose(1, 2).flatten(2))  # (B, H, T, V) -> (B, T, D)


class SelfAttention(MultiHeadAttention):
    """Queries, keys and values come from one sequence. One product makes them all."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.n_groups = config.n_groups
        self.widths = [config.n_heads * config.d_k, config.n_groups * config.d_k, config.n_groups * config.d_v]
        self.to_qkv = StackedLinear(config.d_model, self.widths, bias=config.bias)
        self.rotary = RotaryPositions(config.max_length, config.d_k) if config.positions == "rotary" else None
        self.pattern = pattern(config)

    def forward(self, x: Tensor, mask: Tensor, *, is_causal: bool = False) -> Tensor:
        """x: (B, T, D); mask: broadcast to (B, H, T, T); is_causal: as in `attention`. Returns (B, T, D).

        A pattern hides the future itself, and is given a mask that does not (patterns.py).
        """
        q, k, v = self._queries_keys_values(x, 0, x.size(1))
        k, v = repeated(k, self.n_heads), repeated(v, self.n_heads)
        return self._attend(q, k, v, mask, is_causal=is_causal, within=self.pattern)

    def step(self, x: Tensor, past: KeyValueCache, place: int, position: int, mask: Tensor) -> Tensor:
        """Attend from the newest token of each hypothesis, x (B, N, D), to all tokens in `past`.

        The newest tokens are first added to `past`. The mask knows the pattern.

        Args:
            place: where in `past` they go.
            position: where in their sentences they stand.
            mask: broadcast to (B, H, N, P), where P counts the tokens of `past` with the new ones.
        """
        q, k, v = self._queries_keys_values(x, position, 1)
        return self._attend(q, *past.write(k, v, place, mask.size(-1)), mask)

    def _queries_keys_values(self, x: Tensor, position: int, n_positions: int) -> tuple[Tensor, Tensor, Tensor]:
        """(B, L, D) -> (B, H, L, K), (B, G, L, K), (B, G, L, V). Rotary positions are applied to the first two."""
        q, k, v = self.to_qkv(x).split(self.widths, -1)
        q, k, v = _heads(q, self.n_heads), _heads(k, self.n_groups), _heads(v, self.n_groups)
        if self.rotary is not None:
            q, k = (self.rotary(x, position, n_positions) for x in (q, k))
        return q, k, v


class CrossAttention(MultiHeadAttention):
    """Queries come from the decoder, keys and values from the encoder's output."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.n_groups = config.n_groups
        self.to_q = StackedLinear(config.d_model, [config.n_heads * config.d_k], bias=config.bias)
        self.kv_widths = [config.n_groups * config.d_k, config.n_groups * config.d_v]
        self.to_kv = StackedLinear(config.d_memory, self.kv_widths, bias=config.bias)

    def forward(self, x: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """x: (B, T, D); memory: what `keys_values` made; mask: broadcast to (B, H, T, S). Returns (B, T, D)."""
        return self._attend(_heads(self.to_q(x), self.n_heads), *memory, mask)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (B, G, S, K) and values (B, G, S, V), computed once for all target tokens.

        Args:
            memory: (B, S, width of the encoder).
        """
        k, v = self.to_kv(memory).split(self.kv_widths, -1)
        # If they were not contiguous, each product would copy them.
        return _heads(k, self.n_groups).contiguous(), _heads(v, self.n_groups).contiguous()


def _heads(x: Tensor, n: int) -> Tensor:
    """(B, L, n K) -> (B, n, L, K)."""
    return x.unflatten(-1, (n, -1)).transpose(1, 2)
