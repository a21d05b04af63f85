"""What "best" means in a run: one metric, for patience, for the best checkpoint and for the choice at the end."""

import math
from collections.abc import Mapping
from typing import Any

FALLING = ("valid/loss", "valid/perplexity")  # the metrics of `trainer.monitor` of which less is better


def goodness(monitor: str, metrics: Mapping[str, float]) -> float:
    """A number that is larger for better weights; a metric that is not a number is worse than all others.

    Args:
        monitor: `trainer.monitor`, such as valid/bleu.
        metrics: of a validation, by their names without `valid/`.
    """
    value = metrics[monitor.removeprefix("valid/")]
    if math.isnan(value):
        return -math.inf
    return -value if monitor in FALLING else value


class Selector:
    """The best validation of a run so far, and how many have followed it."""

    def __init__(self, monitor: str) -> None:
        self.monitor = monitor
        self.best = -math.inf  # its goodness
        self.best_step = 0
        self.n_since = 0

    def see(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Take a validation into account; returns whether it is the best one so far."""
        found = goodness(self.monitor, metrics)
        if found > self.best:
            self.best, self.best_step, self.n_since = found, step, 0
            return True
        self.n_since += 1
        return False

    def has_lost_patience(self, patience: int) -> bool:
        """Whether `patience` validations in a row were no better than the best one; 0: never."""
        return 0 < patience <= self.n_since

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "best_step": self.best_step, "n_since": self.n_since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.best, self.best_step, self.n_since = state["best"], state["best_step"], state["n_since"]
