"""Where in its run a Trainer is."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Timer


def time_spent(trainer: pl.Trainer, max_seconds: int) -> float:
    """The share of the time limit that is over by the clock of this rank; earlier parts of a resumed run count.

    Args:
        max_seconds: the limit. 0 means that there is none; the result is 0 then.
    """
    timer = next((callback for callback in trainer.callbacks if isinstance(callback, Timer)), None)  # type: ignore[attr-defined]
    return timer.time_elapsed() / max_seconds if timer and max_seconds else 0.0


def step_is_complete(trainer: pl.Trainer) -> bool:
    """Whether the latest micro-batch ended an optimizer step. The last one of an epoch always does."""
    return not trainer.fit_loop.epoch_loop._should_accumulate()


def is_last_step(trainer: pl.Trainer) -> bool:
    """Whether the run ends here as it is configured. Resumed with more steps, it goes on from here."""
    epoch_ends = trainer.fit_loop.epoch_loop.batch_progress.is_last_batch
    return (
        trainer.should_stop
        or trainer.global_step == trainer.max_steps
        or (epoch_ends and trainer.current_epoch + 1 == trainer.max_epochs)
    )
