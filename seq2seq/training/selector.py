"""What "best" means in a run: one metric, for patience, for the best checkpoint and for the choice at the end."""

import math
from collections.abc import Mapping
from typing import Any

FALLING = ("valid/loss", "valid/perplexity")  # the metrics of `trainer.monitor` of which less is better
Goodness = tuple[float, float]


def goodness(monitor: str, metrics: Mapping[str, float]) -> Goodness:
    """What is larger for better weights: by the monitor, and of equal ones by the loss. What is no number is worst.

    Args:
        monitor: `trainer.monitor`, such as valid/bleu.
        metrics: of a validation, by their names without `valid/`.
    """
    value, loss = metrics[monitor.removeprefix("valid/")], metrics["loss"]
    by_loss = -math.inf if math.isnan(loss) else -loss
    if math.isnan(value):
        return -math.inf, by_loss
    return (-value if monitor in FALLING else value), by_loss


class Selector:
    """The best validations of a run so far, and how many have followed the best one."""

    def __init__(self, monitor: str, n_best: int = 1) -> None:
        """n_best: how many to remember."""
        self.monitor, self.n_best = monitor, n_best
        self.ranking: list[tuple[Goodness, int]] = []  # and step, the best one first; of equal ones the older
        self.n_since = 0
        self.n_alike = 0  # validations from the first one on in which the monitor had one value

    @property
    def best_steps(self) -> list[int]:
        """Optimizer steps of the best validations, the best one first."""
        return [step for _, step in self.ranking]

    def see(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Take a validation into account; returns whether it is the best one so far.

        A monitor that has never moved, such as a BLEU of 0, says nothing, and uses up no patience.
        """
        found = goodness(self.monitor, metrics)
        is_alike = len(self.ranking) == 0 or (self.n_alike > 0 and found[0] == self.ranking[0][0][0])
        self.n_alike = self.n_alike + 1 if is_alike and found[0] > -math.inf else 0
        is_best = found[0] > -math.inf and (not self.ranking or found > self.ranking[0][0])
        if found[0] > -math.inf:
            ranking = sorted([*self.ranking, (found, step)], key=lambda each: each[0], reverse=True)
            self.ranking = ranking[: self.n_best]
        self.n_since = 0 if is_best or self.n_alike else self.n_since + 1
        return is_best

    def has_lost_patience(self, patience: int) -> bool:
        """Whether `patience` validations in a row were no better than the best one; 0: never."""
        return 0 < patience <= self.n_since

    def state_dict(self) -> dict[str, Any]:
        ranking = [[*found, step] for found, step in self.ranking]
        return {"ranking": ranking, "n_since": self.n_since, "n_alike": self.n_alike}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        ranking = [((float(value), float(by_loss)), int(step)) for value, by_loss, step in state["ranking"]]
        self.ranking, self.n_since, self.n_alike = ranking[: self.n_best], int(state["n_since"]), int(state["n_alike"])
