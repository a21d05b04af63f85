"""Muon, beside AdamW, and the learning rate.

Shapes: N matrices of A rows and B columns
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.config import OptimConfig
from seq2seq.training.sharded import split_as, whole

# Five rounds of x <- a x + b (x x^T) x + c (x x^T)^2 x take each singular value to between 0.7 and 1.2 (Jordan et al.):
# near enough to 1, in fewer rounds than it takes to converge.
NEWTON_SCHULZ = 3.4445, -4.7750, 2.0315
ROUNDS = 5
# The root mean square of a step's elements, times the learning rate: about that of AdamW, so that the same learning
# rate does for both (Liu et al. 2025, section 2.2).
STEP_RMS = 0.2
ENDING = ("cosine", "linear")  # schedules that fall until the run ends


class MuonWithAdamW(torch.optim.AdamW):
    """AdamW, but groups with a `momentum` are stepped by Muon. Momentum is the past's share in the mean gradient.

    Muon (Jordan et al. 2024): most of what a batch teaches lies in a few directions, and Adam's steps follow them. Muon
    makes all singular values of a step equal, so that rare directions are learned as fast. It is for matrices that
    multiply activations; embeddings, norms and biases are left to AdamW.

    torch has a Muon of its own. It multiplies in bf16 alone, which takes 12 times as long where a CPU only imitates it.

    Args:
        groups: those for Muon have matrices of one shape each, as `parameters_of` finds them.
        dtype: of Muon's matrix products; `bfloat16` is exact enough.
        adamw: the options of `torch.optim.AdamW`. The learning rate and the weight decay are Muon's, too.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], *, dtype: torch.dtype = torch.bfloat16, **adamw: Any) -> None:
        super().__init__(groups, **adamw)
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        groups = self.param_groups
        self.param_groups = [group for group in groups if "momentum" not in group]
        super().step()
        self.param_groups = groups
        for group in groups:
            if "momentum" in group:
                self._step(group)
        return loss

    def _step(self, group: dict[str, Any]) -> None:
        parameters = [p for p in group["params"] if p.grad is not None]
        if not parameters:
            return
        for p in parameters:
            if p not in self.state:
                self.state[p] = {"mean": torch.zeros_like(p), "step": torch.zeros(())}  # AdamW looks for a step
            self.state[p]["mean"].lerp_(p.grad, 1 - group["momentum"])
        # One round ahead (Nesterov): the newest gradient counts as if it were in the mean already.
        ahead = torch.stack([whole(p.grad.lerp(self.state[p]["mean"], group["momentum"])) for p in parameters])
        steps = orthogonal(ahead.to(self.dtype)).to(ahead.dtype)  # (N, A, B)
        length = group["lr"] * STEP_RMS * math.sqrt(max(steps.shape[1:]))
        for p, step in zip(parameters, steps, strict=True):
            p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(split_as(step, p), alpha=length)


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


def parameters_of(model: nn.Module) -> tuple[list[list[Tensor]], list[nn.Parameter]]:
    """The weights of linear layers, those of one shape together, and all other parameters; frozen ones are left out."""
    matrices: dict[torch.Size, list[Tensor]] = defaultdict(list)
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.weight.requires_grad:
            matrices[module.weight.shape].append(module.weight)
    taken = {weight for weights in matrices.values() for weight in weights}
    return list(matrices.values()), [p for p in model.parameters() if p.requires_grad and p not in taken]


def learning_rate(step: int, config: OptimConfig, total_steps: int, time_spent: float = 0.0) -> float:
    """Learning rate of optimizer step `step`, counted from 1.

    All schedules rise linearly to `config.lr` over `config.warmup_steps`. Then

        inverse_sqrt   lr * sqrt(warmup / step)     (Vaswani et al. 2017, section 5.3, with lr for its constant)
        cosine         half a cosine down to final_lr * lr at the end of the run   (Loshchilov & Hutter 2017)
        linear         a straight line to the same end
        constant       lr

    `cosine` and `linear` end with the run: by steps or by the clock, whichever is nearer its end. The other two look at
    neither.

    Args:
        total_steps: optimizer steps of the run; 0 if only the clock ends it.
        time_spent: the share of the run's time that is over, from 0 to 1. A short time limit cuts warm-up short, too.
    """
    warmup = config.warmup_steps
    rise = step / warmup if step < warmup else 1.0
    if config.schedule == "constant":
        return config.lr * rise
    if config.schedule == "inverse_sqrt":
        return config.lr * min(rise, math.sqrt(max(warmup, 1) / step))
    by_steps = (step - warmup) / max(1, total_steps - warmup) if total_steps else 0.0
    progress = min(1.0, max(0.0, by_steps, time_spent))
    left = 1 - progress if config.schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return config.lr * min(rise, config.final_lr + (1 - config.final_lr) * left)


class Replanned(NamedTuple):
    """The first step of a run that was resumed with another end, and its learning rate."""

    step: int
    rate: float


def joined(planned: float, step: int, before: Replanned | None, config: OptimConfig) -> float:
    """The planned rate; after a change of plan, the way there from the rate before, in a line of `warmup_steps` steps.

    Otherwise a cosine that has come down to 0 would jump to half its height when the run gets twice its length.
    """
    if before is None or step - before.step >= config.warmup_steps:
        return planned
    return before.rate + (planned - before.rate) * (step - before.step) / config.warmup_steps
