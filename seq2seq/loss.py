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
    rows = (~is_pad(tgt_out)).flatten().nonzero().squeeze(1)  # (N,)
    device = hidden.device.type
    smoothed, nll, n_correct = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden.flatten(0, 1).index_select(0, rows),  # (B, T, D) -> (N, D)
        weight,
        tgt_out.flatten().index_select(0, rows),  # (B, T) -> (N,)
        label_smoothing,
        torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype,
        torch.is_grad_enabled(),
    )
    return Loss(smoothed, nll, torch.tensor(len(rows), device=hidden.device), n_correct)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient of a sum is known as soon as the logits are: softmax minus the smoothed target."""

    @staticmethod
    def forward(
        ctx: Any,
        all_hidden: Tensor,
        all_weight: Tensor,
        targets: Tensor,
        eps: float,
        dtype: torch.dtype,
        wants_gradient: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        hidden, weight = all_hidden.to(dtype), all_weight.to(dtype)  # (N, D), (V, D)
        exact = torch.promote_types(dtype, torch.float32)  # sums are never in half precision
        # Smoothing is the same for every row, so it needs no pass over the logits: the mean logit of a row is its
        # product with the mean of all output embeddings.
        mean_weight, sum_hidden = all_weight.mean(0, dtype=exact), all_hidden.sum(0, dtype=exact)  # (D,) each
        nll = torch.zeros((), dtype=exact, device=hidden.device)
        log_totals = torch.zeros_like(nll)
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
            p = logits.sub_(highest).exp_()  # (n, V); softmax but for the division by its row's total
            total = p.sum(-1, keepdim=True, dtype=exact)  # (n, 1)
            log_total = total.log() + highest  # (n, 1), of exp(logits)
            nll += (log_total - target_logit).sum()
            log_totals += log_total.sum()
            n_correct += (target_logit == highest).sum()
            if wants_gradient:
                p[rows[: len(h)], y[:, 0]] -= ((1 - eps) * total[:, 0]).to(dtype)
                # Dividing (n, D) by the totals is cheaper than dividing (n, V), and more accurate.
                grad_hidden[chunk] = (p @ weight) / total - eps * mean_weight
                grad_weight += p.T @ (h / total).to(dtype)

        if wants_gradient:
            ctx.save_for_backward(grad_hidden, grad_weight.to(all_weight.dtype))
        ctx.mark_non_differentiable(nll, n_correct)
        # Mean over v of -log p(v), summed over rows. Not `@`: autocast would round its operands.
        uniform = log_totals - (sum_hidden * mean_weight).sum()
        return (1 - eps) * nll + eps * uniform, nll, n_correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * grad_smoothed, grad_weight * grad_smoothed, None, None, None, None
