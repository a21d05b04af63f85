"""The learning rate as a pure function of how far the run is."""

import math
from typing import NamedTuple

from seq2seq.config import OptimConfig

ENDING = ("cosine", "linear")  # schedules that fall until the run ends


def learning_rate(step: int, config: OptimConfig, total_steps: int, time_spent: float = 0.0) -> float:
    """Learning rate of optimizer step `step`, counted from 1.

    All schedules rise linearly to `config.lr` over `config.warmup_steps`. Then

        inverse_sqrt   lr * sqrt(warmup / step)     (Vaswani et al. 2017, section 5.3, with lr for its constant)
        cosine         half a cosine down to final_lr * lr at the end of the run   (Loshchilov & Hutter 2017)
        linear         a straight line to the same end
        constant       lr

    `cosine` and `linear` end with the run: by steps or by the clock, whichever is nearer its end. The other two look at
    neither.

    Args:
        total_steps: optimizer steps of the run; 0 if only the clock ends it.
        time_spent: the share of the run's time that is over, from 0 to 1. A short time limit cuts warm-up short, too.
    """
    warmup = config.warmup_steps
    rise = step / warmup if step < warmup else 1.0
    if config.schedule == "constant":
        return config.lr * rise
    if config.schedule == "inverse_sqrt":
        return config.lr * min(rise, math.sqrt(max(warmup, 1) / step))
    by_steps = (step - warmup) / max(1, total_steps - warmup) if total_steps else 0.0
    progress = min(1.0, max(0.0, by_steps, time_spent))
    left = 1 - progress if config.schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return config.lr * min(rise, config.final_lr + (1 - config.final_lr) * left)


class Replanned(NamedTuple):
    """The first step of a run that was resumed with another end, and its learning rate."""

    step: int
    rate: float


def joined(planned: float, step: int, before: Replanned | None, config: OptimConfig) -> float:
    """The planned rate; after a change of plan, the way there from the rate before, in a line of `warmup_steps` steps.

    Otherwise a cosine that has come down to 0 would jump to half its height when the run gets twice its length.
    """
    if before is None or step - before.step >= config.warmup_steps:
        return planned
    return before.rate + (planned - before.rate) * (step - before.step) / config.warmup_steps
