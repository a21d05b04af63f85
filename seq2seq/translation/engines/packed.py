"""Products that are fast with the few rows of a search: joined, and on a CPU in the layout that oneDNN likes best.

A plain `nn.Linear` rearranges its weight in each call. For the few rows of a search, that is a good part of the work.
Its float32 products also go to MKL, which is half as fast as oneDNN on processors that are not Intel's. Packed or not,
the numbers stay float32 or bfloat16.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.model.attention import SelfAttention
from seq2seq.model.layers import FeedForward
from seq2seq.model.transformer import Transformer

_ROWS = 256  # rows of x to prepare for; other numbers of rows are multiplied at nearly the same speed


def pack(model: Transformer) -> None:
    """Replace the products of `model`, on the CPU, by packed ones. The model can then no longer be saved or trained."""
    if not _is_available(model.embeddings.output.dtype):
        return
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, PackedLinear(child.weight, child.bias))
        if isinstance(module, FeedForward) and module.activation is F.relu:
            setattr(module.to_hidden, "activation", "relu")  # noqa: B010 (mypy still takes it for an nn.Linear)
            module.activation = _unchanged
    # Python finds an attribute of the instance before a method of the class.
    setattr(model, "project", PackedLinear(model.embeddings.output, None).forward)  # noqa: B010 (mypy: a method)


def join_products(model: Transformer) -> None:
    """Make one product of the three of each self-attention, which for the few rows of a search is nearly as fast as one
    of them. The model can then no longer be saved or trained.
    """
    for module in list(model.modules()):
        if isinstance(module, SelfAttention) and not hasattr(module, "joined"):
            module.joined = Joined(module.to_q, module.to_k, module.to_v)
            del module.to_q, module.to_k, module.to_v
            setattr(module, "project", module.joined.forward)  # noqa: B010 (mypy: a method)


class Joined(nn.Module):
    """Several linear layers as one product."""

    def __init__(self, *parts: nn.Linear) -> None:
        super().__init__()
        self.widths = [part.out_features for part in parts]
        has_bias = parts[0].bias is not None
        self.product = nn.Linear(parts[0].in_features, sum(self.widths), has_bias, device="meta")
        self.product.weight = nn.Parameter(torch.cat([part.weight.detach() for part in parts]))
        if has_bias:
            self.product.bias = nn.Parameter(torch.cat([part.bias.detach() for part in parts]))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """(..., in) -> (..., out) of each."""
        return self.product(x).split(self.widths, -1)


class PackedLinear(nn.Module):
    """x W^T + b, then `activation`; x is converted to the type of W."""

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: str = "none") -> None:
        super().__init__()
        self.dtype = weight.dtype
        self.packed = _reorder(weight.detach(), _ROWS)
        self.bias = None if bias is None else bias.detach()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)."""
        return _linear(x.to(self.dtype), self.packed, self.bias, self.activation)


# torch.compile uses these two operators for the same purpose. torch does not document them, and lacks them if it was
# built without oneDNN, so they are looked up only when they are used.
def _reorder(weight: Tensor, rows: int) -> Tensor:
    return torch.ops.mkldnn._reorder_linear_weight(weight, rows)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, activation, [], "")


def _is_available(dtype: torch.dtype = torch.float32) -> bool:
    """Whether this torch has the operators, and whether they compute the right product."""
    numbers = torch.Generator().manual_seed(0)  # its own: a program that loads a model may count on torch's
    weight, bias, x = (torch.randn(*shape, generator=numbers) for shape in ((64, 32), (64,), (3, 5, 32)))
    try:
        found = PackedLinear(weight.to(dtype), bias.to(dtype), "relu")(x)
    except (AttributeError, RuntimeError, TypeError):
        return False
    tolerance = 1e-4 if dtype == torch.float32 else 0.5  # bfloat16: values of up to 20, with 8 bits
    return torch.allclose(found.float(), F.relu(F.linear(x, weight, bias)), atol=tolerance)


def _unchanged(x: Tensor) -> Tensor:
    return x
