"""A micro-batch that does not fit into memory is done in halves: the sum of their gradients is its gradient."""

import logging
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from seq2seq.dataset.batches import Batch
from seq2seq.errors import RunError
from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import is_out_of_memory
from seq2seq.training.loss import Loss
from seq2seq.vocabulary import PAD

log = logging.getLogger(__name__)


class Pieces:
    """Adds up the gradient of a micro-batch: all at once, or in as many pieces as memory demands.

    A loss here is a sum over target tokens, so those of the pieces add up to that of the batch.

    Attributes:
        n_halved: batches, and pieces of them, that had to be halved so far; a resumed run goes on counting.
    """

    def __init__(self, loss_of: Callable[[Batch], Loss], backward: Callable[[Tensor], None], model: nn.Module) -> None:
        """
        Args:
            loss_of: the forward pass.
            backward: the backward pass, from the sum `smoothed` of a loss.
        """
        self.loss_of, self.backward, self.model = loss_of, backward, model
        self.n_halved = 0
        self.is_short = False  # whether this process has run out of memory before

    def add_gradient(self, batch: Batch) -> Loss:
        """Do forward and backward. Returns the loss, which has no graph any more.

        Raises:
            RunError: memory does not suffice for a single pair.
        """
        try:
            return self._add_at_once(batch)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        # Only here: as long as the error is there, so is all that it was raised in.
        first, second = self._halves(batch)
        return _sum(self.add_gradient(first), self.add_gradient(second))

    def loss_to_exchange(self, batch: Batch) -> Loss:
        """For several processes, which exchange gradients in the backward pass of what comes back here.

        A process that runs out of memory in that pass cannot go back. So after the first lack of memory, it does all of
        its own work before the exchange, and leaves a backward pass that adds nothing.

        Raises:
            RunError: memory does not suffice for a single pair.
        """
        if not self.is_short:
            try:
                return self.loss_of(batch)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
        loss = self.add_gradient(batch)
        nothing = sum(p.flatten()[:0].sum() for p in self.model.parameters())
        return loss._replace(smoothed=loss.smoothed + nothing)

    def _add_at_once(self, batch: Batch) -> Loss:
        """Add the whole gradient or, after an error, nothing: autograd adds to one parameter after another."""
        parameters = list(self.model.parameters())
        before = [p.grad for p in parameters]
        self.model.zero_grad(set_to_none=True)
        try:
            loss = self.loss_of(batch)
            self.backward(loss.smoothed)
        except BaseException:
            for p, gradient in zip(parameters, before, strict=True):
                p.grad = gradient
            raise
        _add_to_gradients(parameters, before)
        return loss._replace(smoothed=loss.smoothed.detach())

    def _halves(self, batch: Batch) -> tuple[Batch, Batch]:
        n_pairs, n_src, n_tgt = *batch.src.shape, batch.tgt_in.size(1)
        if n_pairs == 1:
            raise RunError(
                f"a single pair of {n_src} source and {n_tgt} target tokens needs more memory than there is; if other "
                "programs use it, end them and resume; otherwise start again with a lower data.max_sentence_tokens or "
                "a smaller model"
            )
        if batch.src.is_cuda:
            torch.cuda.empty_cache()
        else:
            give_back_freed_memory()
        self.is_short = True
        self.n_halved += 1
        if self.n_halved & (self.n_halved - 1) == 0:  # the first one, the second, the fourth, ...
            log.warning(
                "memory ran out for a batch of %d pairs with %d source and %d target tokens, which is done in halves; "
                "batches halved so far: %s",
                *(n_pairs, n_src, n_tgt),
                f"{self.n_halved:,}",
            )
        return _rows(batch, slice(None, n_pairs // 2)), _rows(batch, slice(n_pairs // 2, None))


def _add_to_gradients(parameters: Sequence[nn.Parameter], before: Sequence[Tensor | None]) -> None:
    """Add what was there before to the new gradients, as autograd does: new ones are added to old ones in place."""
    olds, news = [], []
    for p, old in zip(parameters, before, strict=True):
        if old is None:
            continue
        if p.grad is not None:
            olds.append(old)
            news.append(p.grad)
        p.grad = old
    if olds:
        torch._foreach_add_(olds, news)


def _sum(first: Loss, second: Loss) -> Loss:
    return Loss(*(a + b for a, b in zip(first, second, strict=True)))


def _rows(batch: Batch, rows: slice) -> Batch:
    """Some pairs of a batch, without the columns in which they have only padding."""
    src, tgt_in, tgt_out = (
        tensor[rows, : int((tensor[rows] != PAD).sum(1).max())] for tensor in (batch.src, batch.tgt_in, batch.tgt_out)
    )
    return Batch(src, tgt_in, tgt_out, int((tgt_out != PAD).sum()))
