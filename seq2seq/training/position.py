"""Where in its run a Trainer is."""

from typing import Any

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


def epoch_ends(trainer: pl.Trainer) -> bool:
    """Whether the latest batch is the last one of its epoch."""
    return trainer.fit_loop.epoch_loop.batch_progress.is_last_batch


def is_last_step(trainer: pl.Trainer) -> bool:
    """Whether the run ends here as it is configured. Resumed with more steps, it goes on from here."""
    return (
        trainer.should_stop
        or trainer.global_step == trainer.max_steps
        or (epoch_ends(trainer) and trainer.current_epoch + 1 == trainer.max_epochs)
    )


def tell_progress(fit_loop: dict[str, Any], epoch: int, done: int, n_batches: int) -> None:
    """Let the state of Lightning's loops say that so many batches of an epoch are done.

    Lightning's own state depends on the hook in which it is saved. Resumed from the end of an epoch, Lightning 2.6 does
    not count the next epoch as begun, and takes a checkpoint of it for one between epochs. So there are two forms here:
    in the middle of an epoch, and before the first batch of the next one.
    """
    is_over = done == n_batches
    n_epochs = epoch + is_over  # that are over
    begun = n_epochs if is_over else n_epochs + 1
    for count in fit_loop["epoch_progress"].values():
        count |= {"ready": begun, "started": begun, "processed": n_epochs, "completed": n_epochs}
    batches = fit_loop["epoch_loop.batch_progress"]
    n_all = batches["total"]["processed"]
    now = 0 if is_over else done
    # As in `on_train_batch_end`, where the latest batch is processed but not yet completed.
    behind = 0 if is_over else 1
    batches["total"] |= {"ready": n_all, "started": n_all, "processed": n_all, "completed": n_all - behind}
    batches["current"] |= {"ready": now, "started": now, "processed": now, "completed": now - behind}
    batches["is_last_batch"] = False
