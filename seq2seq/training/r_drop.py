"""R-Drop (Liang et al. 2021): two passes over a batch, with different dropout, have to agree.

Shapes: B sentences, T target tokens, N target tokens of the batch without padding, n rows of a chunk, D d_model,
V vocabulary
"""

from functools import partial

import torch
from torch import Tensor

from seq2seq.training.loss import ChunkedLoss, Loss, Sums, target_rows, with_gradient


def consistent_cross_entropy(
    hidden: Tensor, weight: Tensor, tgt_out: Tensor, label_smoothing: float, alpha: float, n_tokens: int | None = None
) -> Loss:
    """The cross-entropy of both passes, and how far apart their distributions are.

    loss = (CE1 + CE2) / 2 + alpha / 4 * (KL(p1 || p2) + KL(p2 || p1))

    This is half of equation 3 of the paper, so that losses with and without R-Drop compare.

    Args:
        hidden: decoder output (2B, T, D), the batch of one pass after that of the other.
        weight: output embeddings (V, D).
        tgt_out: (B, T), padded with pad.
        alpha: the paper's weight of agreement; 5 in its translation experiments.
        n_tokens: N, if the caller knows it; see `target_rows`.
    Returns:
        `smoothed` has both terms; `nll` and `n_correct` are means over the passes.
    """
    rows = target_rows(tgt_out, n_tokens)  # (N,)
    # The two rows of a target token stand side by side, so that each chunk has both.
    both = torch.stack((rows, rows + tgt_out.numel()), dim=1).flatten()  # (2N,)
    targets = tgt_out.flatten()[rows].repeat_interleave(2)  # (2N,)
    sums_of = partial(_sums, targets=targets, eps=label_smoothing, alpha=alpha, wants_gradient=torch.is_grad_enabled())
    smoothed, nll, n_correct = (total / 2 for total in with_gradient(sums_of, hidden, weight, both))
    return Loss(smoothed, nll, torch.full((), len(rows), device=hidden.device), n_correct)


def _sums(hidden: Tensor, weight: Tensor, targets: Tensor, eps: float, alpha: float, wants_gradient: bool) -> Sums:
    """Rows 2i and 2i + 1 are two distributions of the same token. Adds alpha / 2 times their divergences."""
    loss = ChunkedLoss(hidden, weight, targets, eps, wants_gradient)
    divergence = torch.zeros_like(loss.nll)
    for chunk in loss.chunks():
        p = chunk.logits.exp()
        total = loss.add(chunk, p)
        p /= total  # softmax
        chunk_divergence, pull = _divergences(p, chunk.logits.sub_(total.log()))
        divergence += chunk_divergence
        if wants_gradient:
            ones = torch.ones_like(total)
            loss.subtract_target(chunk, p, ones)
            p.add_(pull, alpha=alpha / 2)
            loss.add_gradient(chunk, p, ones)
    sums = loss.sums()
    return sums._replace(smoothed=sums.smoothed + alpha / 2 * divergence)


def _divergences(p: Tensor, log_p: Tensor) -> tuple[Tensor, Tensor]:
    """KL(p1 || p2) + KL(p2 || p1) of rows 2i and 2i + 1 of (n, V), summed, and its gradient (n, V) for the logits."""
    (p1, p2), (log_p1, log_p2) = p.unflatten(0, (-1, 2)).unbind(1), log_p.unflatten(0, (-1, 2)).unbind(1)
    exact = torch.promote_types(p.dtype, torch.float32)
    difference = log_p1 - log_p2
    kl12 = (p1 * difference).sum(-1, keepdim=True, dtype=exact)
    kl21 = -(p2 * difference).sum(-1, keepdim=True, dtype=exact)
    apart = p1 - p2  # the gradient of KL(p2 || p1) for the logits of p1; p1 * (difference - kl12) is the other's
    pull1 = p1 * (difference - kl12.to(p.dtype)) + apart
    pull2 = p2 * (-difference - kl21.to(p.dtype)) - apart
    return (kl12 + kl21).sum(), torch.stack((pull1, pull2), dim=1).flatten(0, 1)
