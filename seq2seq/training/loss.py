"""Label-smoothed cross-entropy from hidden states, as sums over target tokens.

Most of what a loss costs is the logits: 8,000 numbers a token, several times over. Here they are made for a few
rows at a time, without padding, and their gradient is taken on the spot, so all of them never exist together.

Shapes: B sentences, T target tokens, N target tokens of the batch without padding, D d_model, V vocabulary
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.masks import is_pad

# Rows of logits at a time. On a CPU (D = 256, V = 8,000, bf16) 512 to 4,096 took the same time within noise, 256 took
# 5-10% more and 128 took 15-30% more, for then adding up the weight gradient costs; so this is the smallest good one.
CHUNK = 512


class Loss(NamedTuple):
    """Sums over all target tokens that are not padding; divide once, where all counts are known."""

    smoothed: Tensor  # what to minimise, nats; the only one with a gradient
    nll: Tensor  # negative log-likelihood, nats; exp(nll / n_tokens) is the perplexity
    n_tokens: Tensor
    n_correct: Tensor  # tokens whose score no other token exceeds; bf16 has ties, and they count as correct


def smoothed_cross_entropy(hidden: Tensor, weight: Tensor, tgt_out: Tensor, label_smoothing: float) -> Loss:
    """Cross-entropy against the target smoothed over the whole vocabulary (Szegedy et al. 2016, section 7).

    loss = (1 - eps) * -log p(target) + eps * mean over all V tokens v of -log p(v)

    as in `F.cross_entropy(label_smoothing=eps)`; fairseq spreads eps over V - 1, and Vaswani et al. do not say.

    Args:
        hidden: decoder output (B, T, D).
        weight: output embeddings (V, D), so that logits are `hidden @ weight.T`.
        tgt_out: (B, T), padded with pad.
        label_smoothing: eps, in [0, 1).
    """
    rows = _target_rows(tgt_out)  # (N,)
    smoothed, nll, n_correct = _loss_of_rows(hidden, weight, rows, tgt_out.flatten()[rows], label_smoothing, 0.0)
    return Loss(smoothed, nll, torch.tensor(len(rows), device=hidden.device), n_correct)


def consistent_cross_entropy(
    hidden: Tensor, weight: Tensor, tgt_out: Tensor, label_smoothing: float, alpha: float
) -> Loss:
    """Cross-entropy of two passes that differ in dropout, which also have to agree: R-Drop (Liang et al. 2021).

    loss = (CE1 + CE2) / 2 + alpha / 4 * (KL(p1 || p2) + KL(p2 || p1))

    which is half of their equation 3, so that losses with and without compare.

    Args:
        hidden: decoder output (2B, T, D), the batch of one pass after that of the other.
        tgt_out: (B, T), padded with pad.
        alpha: their weight of agreement; 5 in their translation experiments.
    Returns:
        `smoothed` has both terms; `nll` and `n_correct` are means over the passes.
    """
    rows = _target_rows(tgt_out)  # (N,)
    # The two rows of a target token stand side by side, so that each chunk of rows has both.
    both = torch.stack((rows, rows + tgt_out.numel()), dim=1).flatten()  # (2N,)
    targets = tgt_out.flatten()[rows].repeat_interleave(2)  # (2N,)
    sums = _loss_of_rows(hidden, weight, both, targets, label_smoothing, alpha)
    smoothed, nll, n_correct = (total / 2 for total in sums)
    return Loss(smoothed, nll, torch.tensor(len(rows), device=hidden.device), n_correct)


def _target_rows(tgt_out: Tensor) -> Tensor:
    """Where the target tokens are among the B * T positions, (N,)."""
    return (~is_pad(tgt_out)).flatten().nonzero().squeeze(1)


def _loss_of_rows(
    hidden: Tensor, weight: Tensor, rows: Tensor, targets: Tensor, eps: float, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    device = hidden.device.type
    return _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden.flatten(0, 1).index_select(0, rows),
        weight,
        targets,
        eps,
        alpha,
        torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype,
        torch.is_grad_enabled(),
    )


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient of a sum is known as soon as the logits are: softmax minus the smoothed target.

    With `alpha`, rows 2i and 2i + 1 are two distributions of the same token, and the sum has alpha / 2 times their
    divergences.
    """

    @staticmethod
    def forward(
        ctx: Any,
        all_hidden: Tensor,
        all_weight: Tensor,
        targets: Tensor,
        eps: float,
        alpha: float,
        dtype: torch.dtype,
        wants_gradient: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        hidden, weight = all_hidden.to(dtype), all_weight.to(dtype)  # (N, D), (V, D)
        exact = torch.promote_types(dtype, torch.float32)  # sums are never in half precision
        # Smoothing is the same for every row, so it needs no pass over the logits: the mean logit of a row is its
        # product with the mean of all output embeddings.
        mean_weight, sum_hidden = all_weight.mean(0, dtype=exact), all_hidden.sum(0, dtype=exact)  # (D,) each
        nll = torch.zeros((), dtype=exact, device=hidden.device)
        log_totals, divergence = torch.zeros_like(nll), torch.zeros_like(nll)
        n_correct = torch.zeros((), dtype=torch.int64, device=hidden.device)
        if wants_gradient:
            grad_hidden = torch.empty_like(all_hidden)
            grad_weight = (sum_hidden * (-eps / len(weight))).expand_as(weight).contiguous()  # (V, D)
            rows = torch.arange(CHUNK, device=hidden.device)

        for start in range(0, len(hidden), CHUNK):
            chunk = slice(start, start + CHUNK)
            h, y = hidden[chunk], targets[chunk, None]  # (n, D), (n, 1)
            logits = h @ weight.T  # (n, V)
            highest = logits.amax(-1, keepdim=True)  # (n, 1)
            target_logit = logits.gather(1, y)  # (n, 1)
            logits -= highest
            p = logits.exp() if alpha else logits.exp_()  # (n, V); softmax but for the division by its row's total
            total = p.sum(-1, keepdim=True, dtype=exact)  # (n, 1)
            log_total = total.log() + highest  # (n, 1), of exp(logits)
            nll += (log_total - target_logit).sum()
            log_totals += log_total.sum()
            n_correct += (target_logit == highest).sum()
            if alpha:
                p /= total
                of_chunk, pull = _divergences(p, logits.sub_(total.log()))
                divergence += of_chunk
                total = torch.ones_like(total)
            if wants_gradient:
                p[rows[: len(h)], y[:, 0]] -= ((1 - eps) * total[:, 0]).to(dtype)
                if alpha:
                    p.add_(pull, alpha=alpha / 2)
                # Dividing (n, D) by the totals is cheaper than dividing (n, V), and more accurate.
                grad_hidden[chunk] = (p @ weight) / total - eps * mean_weight
                grad_weight += p.T @ (h / total).to(dtype)

        if wants_gradient:
            ctx.save_for_backward(grad_hidden, grad_weight.to(all_weight.dtype))
        ctx.mark_non_differentiable(nll, n_correct)
        # Mean over v of -log p(v), summed over rows. Not `@`: autocast would round its operands.
        uniform = log_totals - (sum_hidden * mean_weight).sum()
        return (1 - eps) * nll + eps * uniform + alpha / 2 * divergence, nll, n_correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * grad_smoothed, grad_weight * grad_smoothed, None, None, None, None, None


def _divergences(p: Tensor, log_p: Tensor) -> tuple[Tensor, Tensor]:
    """KL both ways between rows 2i and 2i + 1 of (n, V), summed, and the gradient (n, V) for their logits."""
    (p1, p2), (log_p1, log_p2) = p.unflatten(0, (-1, 2)).unbind(1), log_p.unflatten(0, (-1, 2)).unbind(1)
    exact = torch.promote_types(p.dtype, torch.float32)
    difference = log_p1 - log_p2
    kl12 = (p1 * difference).sum(-1, keepdim=True, dtype=exact)
    kl21 = -(p2 * difference).sum(-1, keepdim=True, dtype=exact)
    apart = p1 - p2  # the gradient of KL(p2 || p1) for the logits of p1; p1 * (difference - kl12) is the other's
    pull1 = p1 * (difference - kl12.to(p.dtype)) + apart
    pull2 = p2 * (-difference - kl21.to(p.dtype)) - apart
    return (kl12 + kl21).sum(), torch.stack((pull1, pull2), dim=1).flatten(0, 1)
