"""Multi-head attention (Vaswani et al. 2017, section 3.2).

Shapes: B sentences, T queries, S keys, D d_model, H n_heads, K d_head
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.model.cache import KeyValueCache
from seq2seq.model.dropout import dropout
from seq2seq.model.positions import RotaryPositions
from seq2seq.model.stacked import StackedLinear

# On a CPU, plain products are faster than torch's fused kernel up to here: in bf16 training 6 times at 20 tokens and
# twice at 256; in float32 the two are about equal. Beyond, what counts is that the fused kernel never has all weights
# in memory.
LONGEST_EXPLICIT = 256

# (queries, keys, values, mask, dropout probability) -> outputs of each head (B, H, T, K)
Attend = Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(q k^T / sqrt(K) + mask) v, equation 1 of the paper.

    Args:
        q: (..., T, K); k and v: (..., S, K).
        mask: float32, 0 or hugely negative, broadcast to (..., T, S); see `masks.additive`.
    Returns:
        outputs (..., T, K) and weights (..., T, S), whose rows sum to 1.
    """
    # For the few queries of a search, bf16 products are up to four times as fast the other way round.
    is_step = 4 * q.size(-2) <= k.size(-2) and q.dtype == torch.bfloat16
    scores = (k @ q.transpose(-2, -1)).transpose(-2, -1) if is_step else q @ k.transpose(-2, -1)  # (..., T, S)
    # The mask makes the sum float32, in which softmax is more exact, and on CPUs several times as fast as in bf16.
    weights = torch.add(mask, scores, alpha=1 / math.sqrt(q.size(-1))).softmax(-1)
    return dropout(weights, p_dropout).to(v.dtype) @ v, weights


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float) -> Tensor:
    """The outputs of `scaled_dot_product_attention`, the fastest way."""
    if q.device.type == "cpu" and q.size(-2) * k.size(-2) <= LONGEST_EXPLICIT**2:
        return scaled_dot_product_attention(q, k, v, mask, p_dropout)[0]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype), dropout_p=p_dropout)


class MultiHeadAttention(nn.Module):
    """What self-attention and cross-attention have in common: heads, and the projection of what they found.

    Projections have no biases, as in the paper.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.p_dropout = dropout
        self.attend: Attend = attention
        self.to_out = StackedLinear(1, d_model, d_model)

    def _to_heads(self, x: Tensor, n: int) -> Tensor:
        """Several projections side by side, to heads: (B, L, n D) -> (n, B, H, L, K)."""
        return x.view(*x.shape[:2], n, self.n_heads, -1).permute(2, 0, 3, 1, 4)

    def _heads(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """Attend with each head, then mix what the heads found; (B, T, D)."""
        heads = self.attend(q, k, v, mask, self.p_dropout if self.training else 0.0)
        return self.to_out(heads.transpose(1, 2).flatten(2))  # (B, H, T, K) -> (B, T, D)


class SelfAttention(MultiHeadAttention):
    """Queries, keys and values come from one sequence; one product makes them all."""

    def __init__(self, d_model: int, n_heads: int, dropout: float, rotary: RotaryPositions | None = None) -> None:
        super().__init__(d_model, n_heads, dropout)
        self.to_qkv = StackedLinear(3, d_model, d_model)
        self.rotary = rotary

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x: (B, T, D); mask: broadcast to (B, H, T, T). Returns (B, T, D)."""
        q, k, v = self._queries_keys_values(x, 0, x.size(1))
        return self._heads(q, k, v, mask)

    def step(self, x: Tensor, past: KeyValueCache, place: int, position: int, mask: Tensor) -> Tensor:
        """Attend from the newest token of each hypothesis, (B, N, D), to all that `past` holds.

        Before that the tokens, which stand at `position` in their sentences, are added to `past`, from `place` on.
        """
        qkv = self._queries_keys_values(x, position, 1)
        return self._heads(qkv[0], *past.write(qkv[1:], place, mask.size(-1)), mask)

    def _queries_keys_values(self, x: Tensor, position: int, n_positions: int) -> Tensor:
        """(B, L, D) -> (3, B, H, L, K), queries and keys turned to their positions if these are rotary."""
        qkv = self._to_heads(self.to_qkv(x), 3)
        return qkv if self.rotary is None else self.rotary(qkv, position, n_positions)


class CrossAttention(MultiHeadAttention):
    """Queries come from the decoder, keys and values from the encoder's output."""

    def __init__(self, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__(d_model, n_heads, dropout)
        self.to_q = StackedLinear(1, d_model, d_model)
        self.to_kv = StackedLinear(2, d_model, d_model)

    def forward(self, x: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """x: (B, T, D); memory: what `keys_values` made; mask: broadcast to (B, H, T, S). Returns (B, T, D)."""
        (q,) = self._to_heads(self.to_q(x), 1)
        return self._heads(q, *memory, mask)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) -> keys and values, each (B, H, S, K); once a sentence, however many tokens ask."""
        k, v = self._to_heads(self.to_kv(memory), 2)
        # Contiguous, or each product would make its own copy.
        return k.contiguous(), v.contiguous()


_one_recording = threading.RLock()  # at a time


@contextmanager
def recorded_weights(model: nn.Module) -> Iterator[dict[nn.Module, Tensor]]:
    """While open, each attention inside `model` leaves its latest weights (B, H, T, S) in the dict.

    Those that this thread asks for; others may use the model meanwhile, but wait with recordings of their own.
    """
    recorded: dict[nn.Module, Tensor] = {}
    modules = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    thread = threading.get_ident()

    def recording(module: nn.Module) -> Attend:
        def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p_dropout: float) -> Tensor:
            if threading.get_ident() != thread:
                return attention(q, k, v, mask, p_dropout)
            output, recorded[module] = scaled_dot_product_attention(q, k, v, mask, p_dropout)
            return output

        return attend

    with _one_recording:
        for module in modules:
            module.attend = recording(module)
        try:
            yield recorded
        finally:
            for module in modules:
                module.attend = attention
