"""Nothing is lost: a checkpoint every few minutes, and one more when the run is told to stop."""

import signal
import time
from contextlib import suppress
from types import FrameType
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.training.position import is_last_step, step_is_complete

SAVE_EVERY_S = 600  # seconds between two saves of `last.ckpt` within an epoch
STALE_AFTER_S = 3600  # no save takes that long
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# To ask all ranks whether to stop makes the host wait for its GPU, so it is not done at each step.
STEPS_BETWEEN_STOP_CHECKS = 10


class TrainingInterrupted(Exception):
    """The run saved its state and stopped because it was told to; `signum` says by what."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


class StoppedAtOnce(BaseException):
    """A second Ctrl-C; a KeyboardInterrupt would make Lightning exit by itself, with status 1."""


class Recovery(Checkpoint):
    """Keep `last.ckpt` current, and stop cleanly on SIGTERM and Ctrl-C.

    It saves only where an optimizer step is complete: from there, a resumed run takes the same steps as an unbroken
    one. Told to stop, it saves and goes on until the metrics of that step are logged and a validation that is due has
    taken place. A second Ctrl-C stops at once.

    It is a `Checkpoint`, and the last in the list, so that Lightning calls it after all callbacks whose state it saves.
    """

    def __init__(self, run: RunDirectory) -> None:
        self.path = run.last
        self.saved_at = time.monotonic()
        self.received = 0  # on this rank
        self.stopping = 0  # on all ranks: the signal for which the state is saved
        self.previous: dict[int, Any] = {}

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for unfinished in self.path.parent.glob(".*.tmp"):
            # A process was killed while it saved this. A young file may belong to a process that still saves.
            with suppress(FileNotFoundError):  # another rank was faster
                if time.time() - unfinished.stat().st_mtime > STALE_AFTER_S:
                    unfinished.unlink()
        # Lightning's own handler waits for rank 0 inside the handler, and hangs if only another rank is told.
        self.previous = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.received and number == signal.SIGINT:
            raise StoppedAtOnce
        self.received = number

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if not step_is_complete(trainer):
            return
        self.stopping = self._told_to_stop(trainer)
        # Clocks differ between ranks, and all ranks must save together: with several, only steps decide.
        if (
            self.stopping
            or is_last_step(trainer)
            or (trainer.world_size == 1 and time.monotonic() - self.saved_at > SAVE_EVERY_S)
        ):
            self._save(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if step_is_complete(trainer):
            self._save(trainer)
            if trainer.world_size == 1:  # several ranks agree at their next step
                self.stopping = self.received
            self._stop_if_told()

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self._stop_if_told()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # Not in `teardown`: Lightning has removed its own handlers by then, and would get them back for good.
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        self._stop_if_told()

    def _stop_if_told(self) -> None:
        if self.stopping:
            raise TrainingInterrupted(self.stopping)

    def _save(self, trainer: pl.Trainer) -> None:
        trainer.save_checkpoint(self.path)
        self.saved_at = time.monotonic()

    def _told_to_stop(self, trainer: pl.Trainer) -> int:
        """The signal that any rank received, agreed on by all."""
        if trainer.world_size == 1:
            return self.received
        if trainer.global_step % STEPS_BETWEEN_STOP_CHECKS:
            return 0
        received = torch.tensor(self.received, device=trainer.strategy.root_device)
        torch.distributed.all_reduce(received, op=torch.distributed.ReduceOp.MAX)
        return int(received)
