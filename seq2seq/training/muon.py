"""Muon (Jordan et al. 2024): a step that is equally long in every direction of a matrix.

Most of what a batch teaches lies in a few directions, and Adam's steps follow them. Muon makes all singular values of a
step equal, so that rare directions are learned as fast. It is for matrices that multiply activations; embeddings, norms
and biases are left to AdamW.

Shapes: N matrices of A rows and B columns
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.model.stacked import StackedLinear
from seq2seq.training.sharded import own_rows, whole

# Five rounds of x <- a x + b (x x^T) x + c (x x^T)^2 x take each singular value to between 0.7 and 1.2 (Jordan et al.):
# near enough to 1, in fewer rounds than it takes to converge.
NEWTON_SCHULZ = 3.4445, -4.7750, 2.0315
ROUNDS = 5
# The root mean square of a step's elements, times the learning rate: about that of AdamW, so that the same learning
# rate does for both (Liu et al. 2025, section 2.2).
STEP_RMS = 0.2


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon for the matrices of a model's linear layers, `adamw` for all other parameters, as one optimizer.

    Args:
        matrices: groups, as `parameters_of` makes them.
        adamw: has the other parameters; only this optimizer calls its `step`.
        lr: learning rate of both.
        momentum: share of the past in the mean of gradients that a step follows.
        weight_decay: of the matrices; multiplied by lr, as in AdamW.
        dtype: of the matrix products; `bfloat16` is exact enough.
    """

    def __init__(
        self,
        matrices: Iterable[dict[str, Any]],
        adamw: torch.optim.AdamW,
        *,
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.param_groups += adamw.param_groups
        self.adamw = adamw
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        # AdamW works on this optimizer's state and groups. Loading a checkpoint replaces them, so hand them over anew.
        self.adamw.state = self.state
        self.adamw.param_groups = [group for group in self.param_groups if "n_stacked" not in group]
        self.adamw.step()
        for group in self.param_groups:
            if "n_stacked" in group:
                self._step(group)
        return loss

    def _step(self, group: dict[str, Any]) -> None:
        parameters = [p for p in group["params"] if p.grad is not None]
        if not parameters:
            return
        for p in parameters:
            if p not in self.state:
                self.state[p]["mean"] = torch.zeros_like(p)
            self.state[p]["mean"].lerp_(p.grad, 1 - group["momentum"])
        # One round ahead (Nesterov): the newest gradient counts as if it were in the mean already.
        ahead = torch.stack([whole(p.grad.lerp(self.state[p]["mean"], group["momentum"])) for p in parameters])
        for p in parameters:
            p.mul_(1 - group["lr"] * group["weight_decay"])
        start = 0
        for part in ahead.split(group.get("heights", ahead.size(1)), 1):
            matrices = part.reshape(len(parameters) * group["n_stacked"], -1, part.size(-1))  # (N, A, B)
            steps = orthogonal(matrices.to(self.dtype)).to(ahead.dtype).reshape(part.shape)
            length = group["lr"] * STEP_RMS * math.sqrt(max(matrices.shape[1:]))
            for p, step in zip(parameters, steps, strict=True):
                rows, first = own_rows(p)
                begin, end = max(start, first), min(start + len(step), first + len(rows))
                if begin < end:
                    rows[begin - first : end - first].sub_(step[begin - start : end - start], alpha=length)
            start += part.size(1)


def orthogonal(matrices: Tensor) -> Tensor:
    """U V^T of each matrix U S V^T, roughly: the same directions, with singular values near 1. (N, A, B) both."""
    a, b, c = NEWTON_SCHULZ
    is_tall = matrices.size(1) > matrices.size(2)
    x = matrices.mT if is_tall else matrices  # so that x x^T is the smaller product
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(ROUNDS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x


def parameters_of(model: nn.Module) -> tuple[list[dict[str, Any]], list[nn.Parameter]]:
    """The matrices for Muon in groups, and all other parameters; frozen ones are left out.

    A group holds the weights of linear layers that have the same shape and projections of the same sizes. Projections
    of one size are computed together; `heights` says where others begin.
    """
    groups: dict[tuple[torch.Size, tuple[int, ...]], list[Tensor]] = defaultdict(list)
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.weight.requires_grad:
            heights = module.widths if isinstance(module, StackedLinear) else [module.out_features]
            groups[module.weight.shape, tuple(heights)].append(module.weight)
    matrices: list[dict[str, Any]] = [
        {"params": weights, "n_stacked": len(heights)}
        if len(set(heights)) == 1
        else {"params": weights, "n_stacked": 1, "heights": list(heights)}
        for (_, heights), weights in groups.items()
    ]
    taken = {weight for group in matrices for weight in group["params"]}
    return matrices, [p for p in model.parameters() if p.requires_grad and p not in taken]
