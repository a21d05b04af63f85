"""A run whose training goes wrong goes back to a good state, or says what is wrong."""

import logging
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
import torch

from seq2seq.artifacts.checkpoint import read_state
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError
from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.loss_watch import LossWatch
from seq2seq.training.module import TranslationModule
from seq2seq.training.rollback import go_back

MOST_SKIPPED = 20  # steps in a row; with fp16, the first steps of a run may skip some until its scale fits
_POOR_BLEU, _GOOD_LOSS = 0.5, 3.5  # a model with such a loss (nats per token) usually has a BLEU above 5

log = logging.getLogger(__name__)


class Divergence(pl.Callback):
    """Takes a run back that has diverged, or ends it, and points out a BLEU that does not fit the loss.

    A run has diverged if the gradients of many steps in a row are not finite, or if its loss has gone up and does not
    come back (`LossWatch`). A step whose gradient is not finite is skipped, so the weights stay finite in any case
    (`TranslationModule.configure_gradient_clipping`).

    The state to go back to is from before the trouble: a saved state is good once a good window of steps came after
    it. To keep it costs no time, since its file is another link to a `last.ckpt`. There are at most two: a good state,
    and one on trial, which may become the next.

    All ranks decide alike: gradient and loss are of all of them, and the first one says which state is the good one.
    """

    def __init__(
        self, run: RunDirectory, max_rollbacks: int, vocab_size: int, ema: ExponentialAverage | None = None
    ) -> None:
        """ema: goes back, too."""
        self.run, self.max_rollbacks, self.ema = run, max_rollbacks, ema
        self.watch = LossWatch(vocab_size)
        self.went_back_at = -1  # step
        self.has_pointed_out = False

    @property
    def is_worried(self) -> bool:
        """Whether the loss may have gone up for good. A validation says little then."""
        return self.max_rollbacks > 0 and self.watch.is_worried

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, TranslationModule)
        self._forget_states_after(trainer, pl_module.n_steps)  # a run that died there takes these steps anew

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        if self.max_rollbacks and not pl_module.n_skipped_in_a_row:
            self.watch.see(pl_module.n_steps, pl_module.of_step["train/loss"])
            if self.is_worried and self.watch.n == 0:  # a bad window ends here
                self._forget_states_after(trainer, self.watch.trusted)
        if trouble := self._trouble(pl_module.n_steps, pl_module.n_skipped_in_a_row):
            self._go_back(trainer, pl_module, trouble)

    def _trouble(self, step: int, n_skipped: int) -> str:
        """What is wrong; empty if nothing is."""
        if n_skipped >= MOST_SKIPPED:
            return f"the gradients of the last {MOST_SKIPPED} steps, up to step {step:,}, were not finite"
        watch = self.watch
        if watch.has_diverged:
            return (
                f"the loss rose from {watch.best:.2f} to {watch.mean:,.2f} nats per token and did not come back for "
                f"{watch.most_bad * watch.window} steps, up to step {step:,}"
            )
        return ""

    def _go_back(self, trainer: pl.Trainer, module: TranslationModule, trouble: str) -> None:
        """
        Raises:
            RunError: the run went back too often, or has nowhere to go back to.
        """
        step = self._good_step(trainer) if module.n_rollbacks < self.max_rollbacks else 0
        if not step:
            raise RunError(f"training has diverged: {trouble}{self._why_it_ends(module)}")
        state = read_state(self.run.good_at(step))
        go_back(module, self.ema, state)
        self.watch.go_back(state["callbacks"][self.state_key]["watch"])
        self.went_back_at = module.n_steps
        self._forget_states_after(trainer, step)
        if not trainer.is_global_zero:
            return  # the first one speaks and deletes for all
        for file in self.run.recent():  # of weights that are no more part of the run
            if file > self.run.recent_at(step):
                file.unlink(missing_ok=True)
        log.warning(
            "training has diverged: %s; the run goes on from its state of step %s, with %.4g of the planned learning "
            "rate (rollback %d of %d)",
            trouble,
            f"{step:,}",
            module.lowered,
            module.n_rollbacks,
            self.max_rollbacks,
        )

    def _why_it_ends(self, module: TranslationModule) -> str:
        optim = module.config.optim
        remedy = (
            f"start again with a lower optim.lr (it was {optim.lr:g}), more optim.warmup_steps or "
            "trainer.precision=32-true"
        )
        if not self.max_rollbacks:
            return f"; {remedy}"
        if module.n_rollbacks < self.max_rollbacks:
            return f", and no good state was saved before that; {remedy}"
        times = "once" if module.n_rollbacks == 1 else f"{module.n_rollbacks} times"
        return f", although the run went back and halved its rate {times}; {remedy}"

    def _good_step(self, trainer: pl.Trainer) -> int:
        """The step of the latest good state, the same on all ranks; 0 if there is none."""
        step = max((step for step in self.run.good() if step <= self.watch.trusted), default=0)
        if trainer.world_size > 1:
            told = torch.tensor(step, device=trainer.strategy.root_device)
            torch.distributed.broadcast(told, src=0)
            step = int(told)
        return step

    def keep_state(self, step: int) -> None:
        """`last.ckpt` is of this step now: it may become the state to go back to."""
        if not self.max_rollbacks or self.is_worried:
            return
        good = [each for each in self.run.good() if each <= self.watch.trusted]
        if len(good) == len(self.run.good()):  # else one is on trial; to replace it at each save would try it for ever
            self.run.keep_good(step)
        for each in good[:-1]:
            self.run.good_at(each).unlink(missing_ok=True)

    def _forget_states_after(self, trainer: pl.Trainer, step: int) -> None:
        if trainer.is_global_zero:
            for each in self.run.good():
                if each > step:
                    self.run.good_at(each).unlink(missing_ok=True)

    def state_dict(self) -> dict[str, Any]:
        return {"watch": self.watch.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.watch.load_state_dict(state_dict["watch"])

    def point_out(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        """Say once that the decoded text is bad although the loss is good."""
        if self.has_pointed_out or metrics["bleu"] >= _POOR_BLEU or metrics["loss"] >= _GOOD_LOSS:
            return
        self.has_pointed_out = True
        log.warning(
            "BLEU of valid is %.2f although its loss is %.2f: what is decoded does not look like the references; "
            "compare a few translations, and check data.valid and the settings of decoding",
            metrics["bleu"],
            metrics["loss"],
        )
