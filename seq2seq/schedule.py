"""The learning rate as a pure function of the step."""

import math

from seq2seq.config import OptimConfig


def learning_rate(step: int, config: OptimConfig, total_steps: int) -> float:
    """Learning rate of optimizer step `step`, counted from 1.

    All schedules rise linearly to `config.lr` over `config.warmup_steps`. Then

        inverse_sqrt   lr * sqrt(warmup / step)     (Vaswani et al. 2017, section 5.3, with lr for its constant)
        cosine         half a cosine down to final_lr * lr at `total_steps`   (Loshchilov & Hutter 2017)
        linear         a straight line to the same end
        constant       lr

    Args:
        total_steps: where `cosine` and `linear` end; the other two do not look at it.
    """
    warmup = config.warmup_steps
    if step < warmup:
        return config.lr * step / warmup
    if config.schedule == "constant":
        return config.lr
    if config.schedule == "inverse_sqrt":
        return config.lr * math.sqrt(max(warmup, 1) / step)
    progress = min(1.0, (step - warmup) / max(1, total_steps - warmup))
    left = 1 - progress if config.schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return config.lr * (config.final_lr + (1 - config.final_lr) * left)
