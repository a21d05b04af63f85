"""Label-smoothed cross-entropy from hidden states, as sums over target tokens.

Logits cost most of the time and memory of a loss: 8,000 numbers for each token, several times over. Here they are
computed for a few rows at a time, without padding. The gradient of these rows is computed at once, so that all logits
never exist together.

Shapes: B sentences, T target tokens, N target tokens of the batch without padding, n rows of a chunk, D d_model,
V vocabulary
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.masks import is_pad

# Rows of logits at a time. On a CPU (D = 256, V = 8,000, bf16) 512 to 4,096 took the same time within noise. 256 took
# 5-10% more and 128 took 15-30% more, because the gradients of the weight are added up more often. A GPU has no cache
# to stay in, and each chunk reads and writes that sum, V x D floats: with 512 rows, 6 GB in a step of 25,000 tokens of
# the base model, and 13 GB with the big one (computed for V = 32,000, not measured).
CHUNK, CHUNK_ON_GPU = 512, 4096


def chunk_rows(device_type: str) -> int:
    """How many rows of logits there are at a time."""
    return CHUNK if device_type == "cpu" else CHUNK_ON_GPU


class Loss(NamedTuple):
    """Sums over all target tokens that are not padding; divide once, where all counts are known."""

    smoothed: Tensor  # what to minimise, nats; the only one with a gradient
    nll: Tensor  # negative log-likelihood, nats; exp(nll / n_tokens) is the perplexity
    n_tokens: Tensor
    n_correct: Tensor  # target tokens with the highest score; bf16 has ties, and they count as correct


class Sums(NamedTuple):
    """What `with_gradient` needs: sums over rows, and the gradient of `smoothed`, which is None if it is not wanted."""

    smoothed: Tensor
    nll: Tensor
    n_correct: Tensor
    gradients: tuple[Tensor, Tensor] | None  # for the hidden states (N, D) and for the output embeddings (V, D)


def smoothed_cross_entropy(
    hidden: Tensor, weight: Tensor, tgt_out: Tensor, label_smoothing: float, n_tokens: int | None = None
) -> Loss:
    """Cross-entropy against the target smoothed over the whole vocabulary (Szegedy et al. 2016, section 7).

    loss = (1 - eps) * -log p(target) + eps * mean over all V tokens v of -log p(v)

    as in `F.cross_entropy(label_smoothing=eps)`; fairseq spreads eps over V - 1, and Vaswani et al. do not say.

    Args:
        hidden: decoder output (B, T, D).
        weight: output embeddings (V, D), so that logits are `hidden @ weight.T`.
        tgt_out: (B, T), padded with pad.
        label_smoothing: eps, in [0, 1).
        n_tokens: N, if the caller knows it; see `target_rows`.
    """
    rows = target_rows(tgt_out, n_tokens)  # (N,)
    targets = tgt_out.flatten()[rows]  # (N,)
    sums_of = partial(_sums, targets=targets, eps=label_smoothing, wants_gradient=torch.is_grad_enabled())
    smoothed, nll, n_correct = with_gradient(sums_of, hidden, weight, rows)
    return Loss(smoothed, nll, torch.full((), len(rows), device=hidden.device), n_correct)


def target_rows(tgt_out: Tensor, n_tokens: int | None = None) -> Tensor:
    """Where the target tokens are among the B * T positions, ascending, (N,).

    Args:
        n_tokens: N. Without it the host has to wait for the device, to learn how many there are.
    """
    is_token = ~is_pad(tgt_out).flatten()
    if n_tokens is None:
        return is_token.nonzero().squeeze(1)
    return is_token.byte().argsort(descending=True, stable=True)[:n_tokens]


def with_gradient(
    sums_of: Callable[[Tensor, Tensor], Sums], hidden: Tensor, weight: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """`smoothed`, `nll` and `n_correct` of some rows of hidden states (B, T, D); only the first has a gradient."""
    smoothed, nll, n_correct = _KnownGradient.apply(  # type: ignore[no-untyped-call]
        hidden.flatten(0, 1).index_select(0, rows), weight, sums_of
    )
    return smoothed, nll, n_correct


class _KnownGradient(torch.autograd.Function):
    """Sums whose gradient is computed together with them."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, sums_of: Callable[[Tensor, Tensor], Sums]
    ) -> tuple[Tensor, Tensor, Tensor]:
        sums = sums_of(hidden, weight)
        if sums.gradients is not None:
            ctx.save_for_backward(*sums.gradients)
        ctx.mark_non_differentiable(sums.nll, sums.n_correct)
        return sums.smoothed, sums.nll, sums.n_correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * grad_smoothed, grad_weight * grad_smoothed, None


def _sums(hidden: Tensor, weight: Tensor, targets: Tensor, eps: float, wants_gradient: bool) -> Sums:
    loss = ChunkedLoss(hidden, weight, targets, eps, wants_gradient)
    for chunk in loss.chunks():
        p = chunk.logits.exp_()  # (n, V); softmax, but not yet divided by the row's total
        total = loss.add(chunk, p)
        if wants_gradient:
            loss.subtract_target(chunk, p, total)
            loss.add_gradient(chunk, p, total)
    return loss.sums()


class Chunk(NamedTuple):
    """Some rows, and their logits."""

    rows: slice
    hidden: Tensor  # (n, D)
    targets: Tensor  # (n, 1)
    highest: Tensor  # (n, 1), the highest logit of each row
    target_logit: Tensor  # (n, 1)
    logits: Tensor  # (n, V), less the highest


class ChunkedLoss:
    """The smoothed cross-entropy of rows, and its gradient, added up chunk by chunk.

    The gradient for the logits is softmax minus the smoothed target. The smoothing is the same for all rows, so it
    needs no pass over the logits: the mean logit of a row is its product with the mean of all output embeddings.
    """

    def __init__(self, hidden: Tensor, weight: Tensor, targets: Tensor, eps: float, wants_gradient: bool) -> None:
        """hidden: (N, D); weight: (V, D); targets: (N,)."""
        device = hidden.device
        is_mixed = torch.is_autocast_enabled(device.type)
        dtype = torch.get_autocast_dtype(device.type) if is_mixed else hidden.dtype
        self.exact = torch.promote_types(dtype, torch.float32)  # sums are never in half precision
        self.hidden, self.weight = hidden.to(dtype), weight.to(dtype)
        self.targets, self.eps = targets, eps
        self.mean_weight, self.sum_hidden = weight.mean(0, dtype=self.exact), hidden.sum(0, dtype=self.exact)  # (D,)
        self.nll = torch.zeros((), dtype=self.exact, device=device)
        self.log_totals = torch.zeros_like(self.nll)
        self.n_correct = torch.zeros((), dtype=torch.int64, device=device)
        self.n_rows = chunk_rows(device.type)
        self.wants_gradient = wants_gradient
        if wants_gradient:
            self.weight_dtype = weight.dtype
            self.grad_hidden = torch.empty_like(hidden)
            self.grad_weight = (self.sum_hidden * (-eps / len(weight))).expand_as(self.weight).contiguous()  # (V, D)
            self.row_numbers = torch.arange(self.n_rows, device=device)

    def chunks(self) -> Iterator[Chunk]:
        """All rows, some at a time. The caller may change the logits."""
        for start in range(0, len(self.hidden), self.n_rows):
            rows = slice(start, start + self.n_rows)
            hidden, targets = self.hidden[rows], self.targets[rows, None]
            logits = hidden @ self.weight.T
            highest = logits.amax(-1, keepdim=True)
            target_logit = logits.gather(1, targets)
            logits -= highest
            yield Chunk(rows, hidden, targets, highest, target_logit, logits)

    def add(self, chunk: Chunk, p: Tensor) -> Tensor:
        """Add the loss of a chunk, and return the totals (n, 1) of p = exp(chunk.logits), (n, V)."""
        total = p.sum(-1, keepdim=True, dtype=self.exact)
        log_total = total.log() + chunk.highest  # (n, 1), of exp(logits)
        self.nll += (log_total - chunk.target_logit).sum()
        self.log_totals += log_total.sum()
        self.n_correct += (chunk.target_logit == chunk.highest).sum()
        return total

    def subtract_target(self, chunk: Chunk, p: Tensor, total: Tensor) -> None:
        """Make p, in place, the gradient for the logits times `total`. The smoothing is added elsewhere."""
        p[self.row_numbers[: len(p)], chunk.targets[:, 0]] -= ((1 - self.eps) * total[:, 0]).to(p.dtype)

    def add_gradient(self, chunk: Chunk, p: Tensor, total: Tensor) -> None:
        """Add the gradients that follow from p / total, the gradient for the logits."""
        # Dividing (n, D) by the totals is cheaper than dividing (n, V), and more accurate.
        self.grad_hidden[chunk.rows] = (p @ self.weight) / total - self.eps * self.mean_weight
        self.grad_weight += p.T @ (chunk.hidden / total).to(p.dtype)

    def sums(self) -> Sums:
        # Mean over v of -log p(v), summed over rows. Not `@`: autocast would round its operands.
        uniform = self.log_totals - (self.sum_hidden * self.mean_weight).sum()
        smoothed = (1 - self.eps) * self.nll + self.eps * uniform
        gradients = (self.grad_hidden, self.grad_weight.to(self.weight_dtype)) if self.wants_gradient else None
        return Sums(smoothed, self.nll, self.n_correct, gradients)
