"""How many optimizer steps the epochs of a run have. All epochs of a stage have as many."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from seq2seq.config import TrainerConfig


class Epochs(NamedTuple):
    """The epochs of a run, as far as its limits let it come.

    Attributes:
        steps: of an epoch of each stage.
        ends: how many epochs are over at the end of each stage but the last.
    """

    steps: Sequence[int]
    ends: Sequence[int] = ()

    def steps_until(self, epoch: int) -> int:
        """Optimizer steps of so many epochs."""
        bounds = [0, *(min(end, epoch) for end in self.ends), epoch]
        return sum(n * (end - begin) for n, (begin, end) in zip(self.steps, pairwise(bounds), strict=True))

    def total_steps(self, config: TrainerConfig) -> int:
        """Optimizer steps that the limits of a run allow; 0 if only time limits it."""
        limits = (config.max_steps, self.steps_until(config.max_epochs))
        return min((limit for limit in limits if limit), default=0)

    def steps_of_stages(self, total_steps: int) -> list[int]:
        """Of all steps of a run, those in each stage; if only time limits it, the last stage counts for one epoch."""
        bounds = [self.steps_until(epoch) for epoch in (0, *self.ends)]
        total = total_steps or bounds[-1] + self.steps[-1]
        return [min(end, total) - min(begin, total) for begin, end in pairwise([*bounds, max(total, bounds[-1])])]

    def __str__(self) -> str:
        later = zip(self.steps[1:], self.ends, strict=True)
        return f"{self.steps[0]:,} an epoch" + "".join(f", {n:,} from epoch {end + 1} on" for n, end in later)
