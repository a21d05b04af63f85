"""Label-smoothed cross-entropy from hidden states, as sums over target tokens.

Logits cost most of the time and memory of a loss: 8,000 numbers for each token, several times over. Here they are
computed for a few rows at a time, without padding. The gradient of these rows is computed at once, so that all logits
never exist together.

Shapes: B sentences, T target tokens, N target tokens of the batch without padding, n rows of a chunk, D d_model,
V vocabulary
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.masks import is_pad
from seq2seq.plugins import LOSSES

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


def smoothed_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    tgt_out: Tensor,
    label_smoothing: float,
    n_tokens: int | None = None,
    teacher: tuple[Tensor, Tensor] | None = None,
    teacher_share: float = 0.0,
) -> Loss:
    """Cross-entropy against the target smoothed over the whole vocabulary (Szegedy et al. 2016, section 7).

    loss = (1 - eps) * -log p(target) + eps * mean over all V tokens v of -log p(v)

    as in `F.cross_entropy(label_smoothing=eps)`; fairseq spreads eps over V - 1, and Vaswani et al. do not say.
    With a teacher, whose probabilities are q (Kim and Rush 2016, section 3.1; with smoothing, which they do not have):

    (1 - share) * loss + share * sum over v of -q(v) log p(v)

    Args:
        hidden: decoder output (B, T, D).
        weight: output embeddings (V, D), so that logits are `hidden @ weight.T`.
        tgt_out: (B, T), padded with pad.
        label_smoothing: eps, in [0, 1).
        n_tokens: N, if the caller knows it; see `target_rows`.
        teacher: as `hidden` and `weight`, of the same positions and subwords; it may be of another width.
        teacher_share: of the teacher, from 0 to 1.
    """
    rows = target_rows(tgt_out, n_tokens)  # (N,)
    smoothed, nll, n_correct = _ChunkedLoss.apply(  # type: ignore[no-untyped-call]
        hidden.flatten(0, 1).index_select(0, rows),
        weight,
        tgt_out.flatten()[rows],
        label_smoothing,
        torch.is_grad_enabled(),
        *((teacher[0].flatten(0, 1)[rows], teacher[1], teacher_share) if teacher else (None, None, 0.0)),
    )
    return Loss(smoothed, nll, torch.full((), len(rows), device=hidden.device), n_correct)


def loss_function(name: str) -> Callable[..., Loss]:
    """The choice of `optim.loss`; it takes and gives what `smoothed_cross_entropy` does."""
    return smoothed_cross_entropy if name == "cross_entropy" else LOSSES[name]


def target_rows(tgt_out: Tensor, n_tokens: int | None = None) -> Tensor:
    """Where the target tokens are among the B * T positions, ascending, (N,).

    Args:
        n_tokens: N. Without it the host has to wait for the device, to learn how many there are.
    """
    is_token = ~is_pad(tgt_out).flatten()
    if n_tokens is None:
        return is_token.nonzero().squeeze(1)
    return is_token.byte().argsort(descending=True, stable=True)[:n_tokens]


class _ChunkedLoss(torch.autograd.Function):
    """`smoothed`, `nll` and `n_correct` of rows, added up chunk by chunk, together with the gradient of the first.

    The gradient for the logits is softmax minus the smoothed target. The smoothing is the same for all rows, so it
    needs no pass over the logits: the mean logit of a row is its product with the mean of all output embeddings. A
    teacher takes its share of the target.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        eps: float,
        wants_gradient: bool,
        teacher_hidden: Tensor | None,
        teacher_weight: Tensor | None,
        share: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """hidden: (N, D); weight: (V, D); targets: (N,); of the teacher as the first two."""
        device = hidden.device
        is_mixed = torch.is_autocast_enabled(device.type)
        dtype = torch.get_autocast_dtype(device.type) if is_mixed else hidden.dtype
        exact = torch.promote_types(dtype, torch.float32)  # sums are never in half precision
        rounded_hidden, rounded_weight = hidden.to(dtype), weight.to(dtype)
        mean_weight, sum_hidden = weight.mean(0, dtype=exact), hidden.sum(0, dtype=exact)  # (D,)
        nll = torch.zeros((), dtype=exact, device=device)
        log_totals, agreed = torch.zeros_like(nll), torch.zeros_like(nll)
        n_correct = torch.zeros((), dtype=torch.int64, device=device)
        n_rows = chunk_rows(device.type)
        if wants_gradient:
            grad_hidden = torch.empty_like(hidden)
            spread = (1 - share) * eps
            grad_weight = (sum_hidden * (-spread / len(weight))).expand_as(weight).contiguous()  # (V, D)
            row_numbers = torch.arange(n_rows, device=device)
        for start in range(0, len(hidden), n_rows):
            rows = slice(start, start + n_rows)
            x, y = rounded_hidden[rows], targets[rows, None]  # (n, D) and (n, 1)
            logits = x @ rounded_weight.T  # (n, V)
            highest, target_logit = logits.amax(-1, keepdim=True), logits.gather(1, y)  # (n, 1)
            if teacher_hidden is not None and teacher_weight is not None:
                q = (teacher_hidden[rows].to(dtype) @ teacher_weight.to(dtype).T).softmax(-1)  # (n, V)
                agreed += (q * logits).sum(dtype=exact)
            p = (logits.sub_(highest)).exp_()  # (n, V); softmax, but not yet divided by the row's total
            total = p.sum(-1, keepdim=True, dtype=exact)  # (n, 1)
            log_total = total.log() + highest  # of exp(logits)
            nll += (log_total - target_logit).sum()
            log_totals += log_total.sum()
            n_correct += (target_logit == highest).sum()
            if wants_gradient:
                if teacher_hidden is not None:
                    p.addcmul_(q, total.to(dtype), value=-share)
                p[row_numbers[: len(p)], y[:, 0]] -= ((1 - share) * (1 - eps) * total[:, 0]).to(dtype)
                # Dividing (n, D) by the totals is cheaper than dividing (n, V), and more accurate.
                grad_hidden[rows] = (p @ rounded_weight) / total - spread * mean_weight
                grad_weight += p.T @ (x / total).to(dtype)
        if wants_gradient:
            ctx.save_for_backward(grad_hidden, grad_weight.to(weight.dtype))
        ctx.mark_non_differentiable(nll, n_correct)
        # Mean over v of -log p(v), summed over rows. Not `@`: autocast would round its operands.
        uniform = log_totals - (sum_hidden * mean_weight).sum()
        return (1 - share) * ((1 - eps) * nll + eps * uniform) + share * (log_totals - agreed), nll, n_correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * grad_smoothed, grad_weight * grad_smoothed, *[None] * 6
