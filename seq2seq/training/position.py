"""How much of a run's time is over."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Timer


def time_spent(trainer: pl.Trainer, max_seconds: int) -> float:
    """The share of the time limit that is over by the clock of this rank, earlier parts of a resumed run included.

    Args:
        max_seconds: the limit; 0 if there is none, and then the answer is 0.
    """
    timer = next((callback for callback in trainer.callbacks if isinstance(callback, Timer)), None)  # type: ignore[attr-defined]
    return timer.time_elapsed() / max_seconds if timer and max_seconds else 0.0
