"""The layers of Figure 1 of Vaswani et al. 2017.

Shapes: B sentences, T target tokens, S source tokens, N hypotheses, D d_model
"""

from collections.abc import Callable

from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.attention import CrossAttention, SelfAttention
from seq2seq.model.cache import DecoderState, KeyValueCache
from seq2seq.model.dropout import Dropout
from seq2seq.model.feed_forward import FeedForward, SwiGLU

Sublayer = Callable[[Tensor], Tensor]


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))), the paper's sections 3.1 and 5.4."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return self.norm(self.dropout.add(x, sublayer(x)))


class PreNorm(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))) (Xiong et al. 2020).

    No norm stands between the last layer and the first, so gradients have the same size in every layer.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return self.dropout.add(x, sublayer(self.norm(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.feed_forward = feed_forward(config)
        self.around_self_attention, self.around_feed_forward = residual(config), residual(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x: (B, S, D); mask: additive, (B, 1, 1, S). Returns (B, S, D)."""
        x = self.around_self_attention(x, lambda x: self.self_attention(x, mask))
        return self.around_feed_forward(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source, then a feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feed_forward = feed_forward(config)
        self.around_self_attention, self.around_cross_attention, self.around_feed_forward = (
            residual(config) for _ in range(3)
        )

    def forward(self, x: Tensor, mask: Tensor, memory: tuple[Tensor, Tensor], memory_mask: Tensor) -> Tensor:
        """All target tokens at once.

        Args:
            x: (B, T, D).
            mask: additive and causal, (T, T).
            memory: keys and values of the source, which `CrossAttention.keys_values` made.
            memory_mask: additive, (B, 1, 1, S).
        """
        x = self.around_self_attention(x, lambda x: self.self_attention(x, mask, is_causal=True))
        x = self.around_cross_attention(x, lambda x: self.cross_attention(x, memory, memory_mask))
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
