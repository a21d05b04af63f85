"""The layers of Figure 1 of Vaswani et al. 2017.

Shapes: B sentences, T target tokens, S source tokens, N hypotheses, D d_model, F d_ff
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.attention import linear
from seq2seq.model.cache import DecoderState, KeyValueCache
from seq2seq.model.dropout import Dropout
from seq2seq.model.variants.choice import cross_attention, self_attention

Sublayer = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, equation 2 of the paper; or another activation for the maximum."""

    def __init__(self, d_model: int, d_ff: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.to_hidden = linear(d_model, d_ff, bias=True)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        self.to_out = linear(d_ff, d_model, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        hidden = self.activation(self.to_hidden(x))  # (B, T, F)
        return self.to_out(self.dropout(hidden))


class SwiGLU(nn.Module):
    """(swish(x W) * x V) W2, without biases (Shazeer 2020).

    It has three matrices in place of two. With two thirds of the d_ff it has as many parameters as `FeedForward`.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.to_gate, self.to_value = linear(d_model, d_ff), linear(d_model, d_ff)
        self.dropout = Dropout(dropout)
        self.to_out = linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.to_out(self.dropout(F.silu(self.to_gate(x)) * self.to_value(x)))


class Residual(nn.Module):
    """What both kinds of residual connection have."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = norm(config)
        self.dropout = Dropout(config.dropout)
        self.share = 1 / config.residual


class PostNorm(Residual):
    """LayerNorm(x + Dropout(Sublayer(x)) / residual), the paper's sections 3.1 and 5.4.

    With the residual's weight a, it is LayerNorm(a x + ...) of DeepNorm (Wang et al. 2022), since a norm forgets scale.
    """

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return self.norm(self.dropout.add(x, sublayer(x), self.share))


class PreNorm(Residual):
    """x + Dropout(Sublayer(LayerNorm(x))) / residual (Xiong et al. 2020).

    No norm stands between the last layer and the first, so gradients have the same size in every layer.
    """

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return self.dropout.add(x, sublayer(self.norm(x)), self.share)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = self_attention(config)
        self.feed_forward = feed_forward(config)
        self.around_self_attention, self.around_feed_forward = residual(config), residual(config)

    def forward(self, x: Tensor, mask: Tensor, weights: list[Tensor] | None = None) -> Tensor:
        """x: (B, S, D); mask: additive, (B, 1, 1, S); weights: takes those (B, H, S, S) too. Returns (B, S, D)."""
        x = self.around_self_attention(x, lambda x: self.self_attention(x, mask, weights=weights))
        return self.around_feed_forward(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source, then a feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = self_attention(config)
        self.cross_attention = cross_attention(config)
        self.feed_forward = feed_forward(config)
        self.around_self_attention, self.around_cross_attention, self.around_feed_forward = (
            residual(config) for _ in range(3)
        )

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        memory: tuple[Tensor, Tensor],
        memory_mask: Tensor,
        weights: tuple[list[Tensor], list[Tensor]] | tuple[None, None] = (None, None),
    ) -> Tensor:
        """All target tokens at once.

        Args:
            x: (B, T, D).
            mask: additive and causal, (T, T).
            memory: keys and values of the source, which `CrossAttention.keys_values` made.
            memory_mask: additive, (B, 1, 1, S).
            weights: take those of self-attention (B, H, T, T) and of cross-attention (B, H, T, S) too.
        """
        of_self, of_cross = weights
        x = self.around_self_attention(x, lambda x: self.self_attention(x, mask, is_causal=True, weights=of_self))
        x = self.around_cross_attention(x, lambda x: self.cross_attention(x, memory, memory_mask, of_cross))
        return self.around_feed_forward(x, self.feed_forward)

    def step(
        self,
        x: Tensor,
        past: KeyValueCache,
        place: int,
        mask: Tensor,
        memory: tuple[Tensor, Tensor],
        state: DecoderState,
    ) -> Tensor:
        """The newest token of each hypothesis, (B, N, D), which is stored in `past` from `place` on."""
        position = state.n_steps - 1
        x = self.around_self_attention(x, lambda x: self.self_attention.step(x, past, place, position, mask))
        x = self.around_cross_attention(x, lambda x: self.cross_attention(x, memory, state.memory_mask))
        return self.around_feed_forward(x, self.feed_forward)


def residual(config: ModelConfig) -> PreNorm | PostNorm:
    """The residual connection and the norm around a sublayer."""
    return PreNorm(config) if config.norm == "pre" else PostNorm(config)


def norm(config: ModelConfig) -> nn.LayerNorm | nn.RMSNorm:
    """LayerNorm (Ba et al. 2016), or RMSNorm (Zhang and Sennrich 2019), which subtracts no mean and adds no bias."""
    kind = nn.RMSNorm if config.norm_type == "rms" else nn.LayerNorm
    return kind(config.d_model, config.norm_eps)


def final_norm(config: ModelConfig) -> nn.Module:
    """The norm after the last layer. Only pre-norm layers need one, because they do not normalise their output."""
    return norm(config) if config.norm == "pre" else nn.Identity()


def feed_forward(config: ModelConfig) -> FeedForward | SwiGLU:
    if config.activation == "swiglu":
        return SwiGLU(config.d_model, config.d_ff, config.activation_dropout)
    return FeedForward(config.d_model, config.d_ff, config.activation, config.activation_dropout)
