"""A run whose training goes wrong goes back to a good state, or says what is wrong."""

import logging
import math
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl

from seq2seq.artifacts.checkpoint import read_state
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.module import TranslationModule

MOST_SKIPPED = 20  # steps in a row; with fp16, the first steps of a run may skip some until its scale fits
_LEAST_RISE = 1.0  # nats per token
_LOST = 0.25  # share of what the run had learned
_STATE: dict[str, type] = {"best": float, "began": int, "n": int, "sum": float, "n_bad": int, "trusted": int}

log = logging.getLogger(__name__)


class Divergence(pl.Callback):
    """Takes a run back that has diverged, or ends it.

    A run has diverged if the gradients of many steps in a row are not finite, or if its loss has gone up and does not
    come back (`LossWatch`). A step whose gradient is not finite is skipped, so the weights stay finite in any case
    (`TranslationModule.on_before_optimizer_step`).

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
            raise RunError(
                f"training has diverged: {trouble}, after {module.n_rollbacks} of {self.max_rollbacks} rollbacks; "
                f"start again with a lower optim.lr (it was {module.config.optim.lr:g}), more optim.warmup_steps or "
                "trainer.precision=32-true"
            )
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

    def _good_step(self, trainer: pl.Trainer) -> int:
        """The step of the latest good state, the same on all ranks; 0 if there is none."""
        step = max((step for step in self.run.good() if step <= self.watch.trusted), default=0)
        return trainer.strategy.broadcast(step)

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


class LossWatch:
    """Judges the mean loss of each 50 steps, and finds a divergence after five bad windows in a row, or 250 steps.

    A window is bad if the loss is above the lowest one so far by at least 1 nat, and by a quarter of what the run had
    learned: of the way from ln V, the loss of a model that knows nothing, down to the lowest window. (V is the size of
    the vocabulary.) On Multi30k with 10,000 pieces, ln V is 9.2, and after a lowest loss of 2 the limit is 3.8. A
    model that has collapsed to the frequencies of the pieces loses 5.8 there, which is noticed if the lowest was below
    4.6. One that has exploded loses more than ln V. In a real run of the tests' tiny model, with optim.lr=1, the loss
    rose from 3.1 to 4.2 and five windows were bad at step 900; with half the rate it came down to 3.5.

    Why this is no false alarm, by the curves that tests/training/test_loss_watch.py simulates:
    - Noise. On Multi30k the loss of a step strays by 0.2 to 0.4 around its mean, so that of a window by 0.06. With
      2 nats, none of 8,000 windows was bad. With 3 nats 56 were, but not five in a row.
    - A spike that comes back. One of 7 nats that falls to a third each 60 steps makes two bad windows, each 140 four.
    - At the start nothing is learned yet, and the limit is 1 nat above ln V (or above the first loss, if that is more:
      a model that is fine-tuned may be sure of the wrong words).
    - What is judged has no label smoothing in it. Fine-tuning may forget almost a quarter, and long
      sentences may cost 1 nat more than the short ones before them.
    """

    window = 50  # steps whose mean loss is judged
    most_bad = 5  # windows in a row

    def __init__(self, vocab_size: int) -> None:
        self.ignorance = math.log(vocab_size)
        self.best = math.inf  # the lowest mean; before the first window, what the loss is at the start
        self.began, self.n, self.sum = 0, 0, 0.0  # the window of now: after which step, and the steps in it
        self.mean = 0.0  # of the latest window, to tell it
        self.n_bad = 0  # windows in a row
        self.trusted = 0  # states up to this step are good: a good window came after them

    @property
    def is_worried(self) -> bool:
        """Whether the latest window was bad."""
        return self.n_bad > 0

    @property
    def has_diverged(self) -> bool:
        return self.n_bad >= self.most_bad

    @property
    def limit(self) -> float:
        """Above this, a window is bad."""
        return self.best + max(_LEAST_RISE, _LOST * (self.ignorance - self.best))

    def see(self, step: int, loss: float) -> None:
        """Take the loss of a step into account, in nats per token; steps that were skipped are left out."""
        if math.isinf(self.best):
            self.best = max(self.ignorance, loss)
        if self.n == 0:
            self.began = step - 1
        self.n, self.sum = self.n + 1, self.sum + loss
        if self.n == self.window:
            self._judge()

    def _judge(self) -> None:
        self.mean = self.sum / self.n
        if self.mean > self.limit:
            self.n_bad += 1
        else:
            self.n_bad = 0
            self.best, self.trusted = min(self.best, self.mean), self.began
        self.n, self.sum = 0, 0.0

    def go_back(self, state: Mapping[str, Any]) -> None:
        """Judge anew, from a state that the run goes back to. Its lowest loss counts, since it may be far behind."""
        self.best = state["best"]
        self.n, self.sum, self.n_bad = 0, 0.0, 0

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _STATE}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name, type_of in _STATE.items():
            setattr(self, name, type_of(state[name]))


def go_back(module: TranslationModule, ema: ExponentialAverage | None, state: dict[str, Any]) -> None:
    """Take a running Trainer back to an earlier state of its run, with half the learning rate.

    Weights, moments of the optimizer and averages are those of the earlier state. All else goes on from where the run
    is: the count of steps, the batches of the epoch, dropout and the clock. So metrics have one row a step, and the
    batches that led into trouble do not come again in the same state. What was learned in between is lost, and its
    steps count.

    Args:
        state: the content of a checkpoint of this run, the same on all ranks.
    """
    module.trainer.strategy.load_model_state_dict(state)
    module.trainer.strategy.load_optimizer_state_dict(state)
    if scale := state.get("precision"):  # of fp16, near 0 after many skipped steps
        module.trainer.precision_plugin.load_state_dict(scale)
    if ema is not None:
        averages = state["callbacks"].get(ema.state_key)  # none, if it was switched on later
        ema.go_back(averages["weights"] if averages else dict(module.model.named_parameters()))
    module.n_rollbacks += 1
    module.n_skipped_in_a_row = 0
