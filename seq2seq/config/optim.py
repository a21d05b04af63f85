"""The section `optim`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, one_of
from seq2seq.config.on_resume import horizon

LOSSES = ("cross_entropy",)  # that are built in; plugins add others


@dataclass(kw_only=True)
class OptimConfig:
    """Loss, optimizer and learning rate."""

    loss: str = "cross_entropy"  # what training minimises: cross_entropy, or of a plugin; validations measure that
    optimizer: str = "adamw"  # adamw; muon: for the matrices of the layers, AdamW for the rest (Jordan et al. 2024)
    lr: float = 2e-3  # the highest learning rate, reached at the end of warm-up
    schedule: str = horizon("inverse_sqrt")  # inverse_sqrt, constant; cosine and linear fall until the run ends
    warmup_steps: int = 1000  # steps in which the learning rate rises in a line from 0 to lr
    final_lr: float = horizon(0.0)  # where `cosine` and `linear` end, as a share of lr
    beta1: float = 0.9  # of Adam
    beta2: float = 0.98  # of Adam
    eps: float = 1e-9  # of Adam
    momentum: float = 0.95  # of Muon
    weight_decay: float = 0.0  # on matrices only, not on norms and biases
    clip_norm: float = 1.0  # largest norm of the gradient; 0: no clipping
    label_smoothing: float = 0.1  # probability that is spread evenly over the whole vocabulary
    teacher_share: float = 0.5  # of the loss, if there is a teacher=; the rest is of the text

    def problems(self) -> Iterator[str]:
        schedules = ("inverse_sqrt", "cosine", "linear", "constant")
        yield from one_of("optim", self, optimizer=("adamw", "muon"), schedule=schedules)
        yield from at_least("optim", self, warmup_steps=0, weight_decay=0.0, clip_norm=0.0)
        if not 0 < self.lr < math.inf:
            yield f"optim.lr={self.lr} must be a finite number above 0"
        if self.weight_decay == math.inf:
            yield "optim.weight_decay=inf is not a finite number"
        if not 1e-30 < self.eps < 1:  # AdamW divides by it where a gradient is 0; float32 must hold it
            yield f"optim.eps={self.eps} is not between 1e-30 and 1; 1e-8 and 1e-9 are usual"
        if not 0 <= self.final_lr <= 1:
            yield f"optim.final_lr={self.final_lr} is not in [0, 1]"
        for name in ("label_smoothing", "beta1", "beta2", "momentum"):
            if not 0 <= getattr(self, name) < 1:
                yield f"optim.{name}={getattr(self, name)} is not in [0, 1)"
        if not 0 < self.teacher_share <= 1:
            yield f"optim.teacher_share={self.teacher_share} is not in (0, 1]"
