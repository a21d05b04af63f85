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
    """The best validations of a run so far, and how many have followed the best one."""

    def __init__(self, monitor: str, n_best: int = 1) -> None:
        """n_best: how many to remember."""
        self.monitor, self.n_best = monitor, n_best
        self.ranking: list[tuple[float, int]] = []  # goodness and step, the best one first; of equal ones the older
        self.n_since = 0

    @property
    def best_steps(self) -> list[int]:
        """Optimizer steps of the best validations, the best one first."""
        return [step for _, step in self.ranking]

    def see(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Take a validation into account; returns whether it is the best one so far."""
        found = goodness(self.monitor, metrics)
        is_best = found > (self.ranking[0][0] if self.ranking else -math.inf)
        if found > -math.inf:
            ranking = sorted([*self.ranking, (found, step)], key=lambda each: each[0], reverse=True)
            self.ranking = ranking[: self.n_best]
        self.n_since = 0 if is_best else self.n_since + 1
        return is_best

    def has_lost_patience(self, patience: int) -> bool:
        """Whether `patience` validations in a row were no better than the best one; 0: never."""
        return 0 < patience <= self.n_since

    def state_dict(self) -> dict[str, Any]:
        return {"ranking": [list(each) for each in self.ranking], "n_since": self.n_since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.ranking = [(float(found), int(step)) for found, step in state["ranking"]][: self.n_best]
        self.n_since = int(state["n_since"])
