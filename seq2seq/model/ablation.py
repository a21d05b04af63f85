"""Heads and sublayers that are switched off for a while, to see what a model is worth without them.

They are off for all threads that use the model.

Shapes: B sentences, T queries, H n_heads, K width of a head's output
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from seq2seq.model.attention import MultiHeadAttention
from seq2seq.model.layers import DecoderLayer, EncoderLayer


@contextmanager
def without_head(attention: MultiHeadAttention, head: int) -> Iterator[None]:
    """One head, counted from 0, puts out zeros, so `to_out` mixes the others alone."""

    def zero(_: nn.Module, args: tuple[Tensor, ...]) -> Tensor:
        heads = args[0].unflatten(-1, (attention.n_heads, -1)).clone()  # (B, T, H, K)
        heads[..., head, :] = 0
        return heads.flatten(-2)  # (B, T, H, K) -> (B, T, H K)

    handle = attention.to_out.register_forward_pre_hook(zero)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def without_sublayer(sublayer: nn.Module) -> Iterator[None]:
    """An attention or a feed-forward network puts out zeros, so its input goes on through the residual alone.

    With `model.norm=pre` that skips the sublayer. With `post`, the norm after the residual stays.
    """
    # A search calls `step` of a self-attention, for which no hook runs. Its last product is a call in any case.
    last = sublayer.to_out if isinstance(sublayer, MultiHeadAttention) else sublayer
    handle = last.register_forward_hook(lambda _, args, output: torch.zeros_like(output))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def without_layer(layer: EncoderLayer | DecoderLayer) -> Iterator[None]:
    """All sublayers of a layer are skipped."""
    with ExitStack() as stack:
        for sublayer in sublayers(layer).values():
            stack.enter_context(without_sublayer(sublayer))
        yield


def sublayers(layer: EncoderLayer | DecoderLayer) -> dict[str, nn.Module]:
    """The sublayers by their names, in the order in which they are computed."""
    found: dict[str, nn.Module] = {"self_attention": layer.self_attention}
    if isinstance(layer, DecoderLayer):
        found["cross_attention"] = layer.cross_attention
    return found | {"feed_forward": layer.feed_forward}
