"""Dropout whose masks are cheap on CPUs.

On a CPU, `F.dropout` draws one number of the Mersenne Twister for each element, on one thread. That takes a quarter
of a bf16 training step. One draw of 64 bits has eight random bytes, and one byte is enough to decide about an element
if the probability is a multiple of 1/256.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zero elements with probability p while training and scale the others by 1 / (1 - p).

    On CPUs p is rounded to a multiple of 1/256: 0.1 becomes 26/256 = 0.1016. The scale is that of the rounded p, so the
    expectation is exact. A compiled model (`trainer.compile`) does not round.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p if self.training else 0.0)

    def add(self, x: Tensor, y: Tensor, share: float = 1.0) -> Tensor:
        """x + share * Dropout(y), in the type of x: a residual connection."""
        return add_dropout(x, y, self.p if self.training else 0.0, share)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def dropout(x: Tensor, p: float) -> Tensor:
    """Zero elements with probability p and scale the others to keep the expectation."""
    if p == 0:
        return x
    if not _draws_bytes(x):
        return F.dropout(x, p)
    keep, scale = random_mask(x.shape, p)
    return (x * keep.to(x.dtype)).mul_(scale)  # the scale last: a mask of bf16 would round it


def add_dropout(x: Tensor, y: Tensor, p: float, share: float = 1.0) -> Tensor:
    """x + share * dropout(y, p), in the type of x."""
    if p == 0 or not _draws_bytes(y):
        return torch.add(x, F.dropout(y, p), alpha=share)
    keep, scale = random_mask(y.shape, p)
    out: Tensor = _AddDropout.apply(x, y, keep, scale * share)  # type: ignore[no-untyped-call]
    return out


class _AddDropout(torch.autograd.Function):
    """x + y * keep * scale, with all arithmetic in the type of x and one byte an element kept for the backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale, ctx.dtype = scale, y.dtype
        return torch.addcmul(x, y.to(x.dtype), keep.to(x.dtype), value=scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (keep,) = ctx.saved_tensors
        return grad, keep.to(grad.dtype).mul_(ctx.scale).mul_(grad).to(ctx.dtype), None, None


def _draws_bytes(x: Tensor) -> bool:
    """Whether the mask of x comes from random bytes. Compiled code has fast dropout of its own on every device.

    torch 2.13 could not compile our draws: it would take the 64-bit words for bytes. `torch.compiler.disable` would
    keep them out of the compiled code, but it imports the compiler, which takes a second.
    """
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def random_mask(shape: torch.Size, p: float) -> tuple[Tensor, float]:
    """1 with probability 1 - p and else 0, as uint8, and the factor that keeps the expectation."""
    n = shape.numel()
    words = torch.empty((n + 7) // 8, dtype=torch.int64).random_(-(2**63), None)  # None: all 64 bits
    random_bytes = words.view(torch.uint8)[:n].view(shape)
    n_dropped = min(round(p * 256), 255)  # of the 256 values of a byte
    return torch.ge(random_bytes, n_dropped, out=random_bytes), 256 / (256 - n_dropped)
