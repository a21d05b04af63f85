"""When a run validates, saves and stops: all of it decided by one count of optimizer steps."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.config.on_resume import RUNTIME, classes, value_of
from seq2seq.exit_status import stopped_by
from seq2seq.model.transformer import Transformer
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.data import TranslationData
from seq2seq.training.divergence import Divergence
from seq2seq.training.metrics import Counters
from seq2seq.training.module import TranslationModule
from seq2seq.training.processes import CutShort, StopSignals, TrainingInterrupted
from seq2seq.training.selection import Selector, is_kept, keep_every_n_steps, keep_validated
from seq2seq.training.sharded import split_by
from seq2seq.training.validation import Validation

SAVE_EVERY_S = 600  # seconds between two saves of `last.ckpt`
STALE_AFTER_S = 3600  # no save takes that long
# To ask all ranks whether to stop makes the host wait for its GPU, so it is not done at each step.
STEPS_BETWEEN_AGREEMENTS = 10
Listener = Callable[[TranslationModule, Mapping[str, float]], None]

log = logging.getLogger(__name__)


class Milestones(Checkpoint):
    """Validates when it is due, keeps what the end of the run chooses from, saves, and stops the run when it is told.

    All ranks decide alike. A validation that is due belongs to the state, so that one that was cut off is made up for.
    Told to stop, also in the middle of a validation, the run saves at once, and validates when it is resumed.

    It is a `Checkpoint`, and the last in the list, so that Lightning calls it after all callbacks whose state it saves.
    """

    def __init__(
        self,
        run: RunDirectory,
        data: TranslationData,
        validation: Validation,
        divergence: Divergence,
        counters: Counters,
        ema: ExponentialAverage | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        """
        Args:
            divergence: comes before this in the list, and may have taken the run back.
            counters: come before this in the list.
            ema: its weights are those that are validated and chosen from; None: the weights as they are.
            listeners: called with the module and the metrics of each validation, after it.
        """
        self.run, self.data, self.validation, self.ema, self.listeners = run, data, validation, ema, listeners
        self.divergence, self.counters = divergence, counters
        self.config = validation.config.trainer
        self.selector = Selector(self.config.monitor, self.config.keep_best)
        self.owes_validation = False
        self.signals = StopSignals()
        self.stopping = 0  # the signal for which the state is saved, on all ranks
        self.has_saved = False  # whether there is a state to go on from
        self.saved_at = time.monotonic()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for unfinished in self.run.checkpoints.glob(".*.tmp"):
            # A process was killed while it saved this. A young file may belong to a process that still saves.
            with suppress(FileNotFoundError):  # another rank was faster
                if time.time() - unfinished.stat().st_mtime > STALE_AFTER_S:
                    unfinished.unlink()
        assert isinstance(pl_module, TranslationModule)
        pl_module.begin()
        self.signals.install()
        with suppress(CutShort):  # it is still owed, and nothing has changed since the last save
            self.make_up(trainer, pl_module)
        self._hear(trainer)
        self._stop_if_told()
        if self._has_lost_patience() or pl_module.time_spent >= 1:
            trainer.should_stop = True

    def make_up(self, trainer: pl.Trainer, module: TranslationModule) -> None:
        """Keep the weights of the latest step and validate now, if the run was cut off before it could."""
        if self.has_saved and not self.run.kept_at(module.n_steps).is_file():
            keep_every_n_steps(self.run, module, self.ema)
        if self.owes_validation:
            self._validate(trainer, module)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        step = pl_module.n_steps
        if pl_module.time_spent >= 1:
            trainer.should_stop = True
        self.owes_validation |= trainer.should_stop or self._is_due(step)
        # The run ends here as it is configured. Resumed with more steps, it goes on from here.
        is_last = trainer.should_stop or step == self.data.total_steps
        self.stopping, is_time_to_save = self._agree(trainer, step)
        went_back = self.divergence.went_back_at == step
        if went_back:
            self.selector.n_since = 0  # what was validated since is no more part of the run
        # No weights without a state: otherwise a run that died in between could neither go on nor start again.
        is_first = not self.has_saved and (self.owes_validation or is_kept(self.config, step))
        if self.stopping or is_time_to_save or went_back or is_first or is_last:
            self._save(trainer, step)
        keep_every_n_steps(self.run, pl_module, self.ema)
        if self.owes_validation and not self.stopping:
            try:
                self._validate(trainer, pl_module)
            except CutShort:
                self._save(trainer, step)
            self._hear(trainer)
        self.counters.step_began = time.perf_counter()  # validations and saves are no part of the next step

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self._stop_if_told()  # the metrics of the step before are logged now

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.stopping = self.stopping or self._agree(trainer, 0)[0]  # told after the last step at which they agreed
        # Not in `teardown`: Lightning has removed its own handlers by then, and would get them back for good.
        self._give_signals_back(trainer)
        self._stop_if_told()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        self._give_signals_back(trainer)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["position"] = self.data.loader.position._asdict()

    def state_dict(self) -> dict[str, Any]:
        return {
            "watched": self._watched(),
            "owes_validation": self.owes_validation,
            "selector": self.selector.state_dict(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.has_saved, self.owes_validation = True, bool(state_dict["owes_validation"])
        if state_dict["watched"] == self._watched():
            self.selector.load_state_dict(state_dict["selector"])
        else:
            log.info("validations are no longer measured as before, so the best one is looked for anew")

    def _watched(self) -> dict[str, Any]:
        """What decides the numbers of a validation, beside the weights."""
        config = self.validation.config
        own = {"monitor": self.config.monitor, "sentences": self.config.valid_sentences}
        sections = ("decoding.", "evaluation.")
        keys = [key for key, mark in classes(RunConfig).items() if key.startswith(sections) and mark != RUNTIME]
        return own | {key: value_of(config, key) for key in keys}

    def why_ended(self, module: TranslationModule) -> str:
        """Why the training has ended."""
        config, total = self.config, self.data.total_steps
        if module.n_steps >= total > 0:
            limit = "max_steps" if config.max_steps and config.max_steps == total else "max_epochs"
            return f"trainer.{limit}={getattr(config, limit)} was reached"
        if self._has_lost_patience():
            return (
                f"{config.monitor} was not better than at step {self.selector.best_steps[0]:,} in "
                f"trainer.patience={config.patience} validations"
            )
        return f"trainer.max_time={config.max_time} was over" if module.time_spent >= 1 else "a callback stopped it"

    def _is_due(self, step: int) -> bool:
        return step % (self.config.val_every_n_steps or self.data.steps_per_epoch) == 0

    def _validate(self, trainer: pl.Trainer, module: TranslationModule) -> None:
        step = module.n_steps
        # A validation can take longer than a batch system waits. Several ranks wait for each other, so they end it.
        told = self.signals.cutting_short() if trainer.world_size == 1 else nullcontext()
        with self._watched_model(trainer, module) as model, told, self.counters.timed("validation"):
            metrics = self.validation.while_training(model)
        self.owes_validation = False
        self._log(module, metrics)
        self.selector.see(step, metrics)
        with self.counters.timed("saving"):
            keep_validated(self.run, module, self.ema, metrics, self.selector)
        if self._has_lost_patience():
            trainer.should_stop = True
        for listener in self.listeners:
            listener(module, metrics)
        self._save(trainer, step)

    @contextmanager
    def _watched_model(self, trainer: pl.Trainer, module: TranslationModule) -> Iterator[Transformer]:
        """The model with the weights that validations see."""
        if split := split_by(trainer):
            yield split.whole_model(self.ema.whole_weights() if self.ema else None)
            return
        with self.ema.in_place_of_weights(module.model) if self.ema else nullcontext():
            yield module.model

    def _log(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        found = {f"valid/{name}": value for name, value in metrics.items()}
        for domain, of_domain in self.validation.of_domains.items():
            found |= {f"valid/{domain}/{name}": value for name, value in of_domain.items()}
        self.counters.log_row(module, found | self.counters.times())

    def _has_lost_patience(self) -> bool:
        return self.selector.has_lost_patience(self.config.patience) and not self.divergence.is_worried

    def _save(self, trainer: pl.Trainer, step: int) -> None:
        with self.counters.timed("saving"):
            if trainer.is_global_zero:
                self.run.keep_previous()
            trainer.save_checkpoint(self.run.last)
        self.has_saved = True
        if trainer.is_global_zero:
            self.divergence.keep_state(step)
        self.saved_at = time.monotonic()

    def _agree(self, trainer: pl.Trainer, step: int) -> tuple[int, bool]:
        """The signal that any rank received, and whether the last save is too old: the same on all ranks."""
        signal, is_old = self.signals.received, time.monotonic() - self.saved_at > SAVE_EVERY_S
        if trainer.world_size == 1:
            return signal, is_old
        if step % STEPS_BETWEEN_AGREEMENTS:
            return 0, False
        told = torch.tensor([signal, int(is_old)], device=trainer.strategy.root_device)
        torch.distributed.all_reduce(told, op=torch.distributed.ReduceOp.MAX)
        return int(told[0]), bool(told[1])

    def _hear(self, trainer: pl.Trainer) -> None:
        """Stop if a signal came during a validation."""
        if trainer.world_size == 1:  # several ranks agree at their next step
            self.stopping = self.signals.received

    def _give_signals_back(self, trainer: pl.Trainer) -> None:
        if self.stopping and trainer.is_global_zero:  # the others end without an error
            stopped_by(self.stopping)
        self.signals.restore()

    def _stop_if_told(self) -> None:
        if self.stopping:
            raise TrainingInterrupted(self.stopping)
