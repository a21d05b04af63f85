"""Whether the training loss has gone up and does not come back."""

import math
from collections.abc import Mapping
from typing import Any

_LEAST_RISE = 1.0  # nats per token
_LOST = 0.25  # share of what the run had learned
_STATE: dict[str, type] = {"best": float, "began": int, "n": int, "sum": float, "n_bad": int, "trusted": int}


class LossWatch:
    """Judges the mean loss of each 50 steps, and finds a divergence after five bad windows in a row, or 250 steps.

    A window is bad if the loss is above the lowest one so far by at least 1 nat, and by a quarter of what the run had
    learned: of the way from ln V, the loss of a model that knows nothing, down to the lowest window. (V is the size of
    the vocabulary.) On Multi30k with 10,000 pieces, ln V is 9.2, and after a lowest loss of 2 the limit is 3.8. A
    model that has collapsed to the frequencies of the pieces loses 5.8 there, which is noticed if the lowest was below
    4.6. One that has exploded loses more than ln V. In a real run of the tests' tiny model, with optim.lr=1, the loss
    rose from 3.1 to 4.2 and five windows were bad at step 900; with half the rate it came down to 3.5.

    Why this is no false alarm, by the curves that tests/training/test_loss_watch.py simulates:
    - Noise. On Multi30k the loss of a step strays by 0.2 to 0.4 around its mean, so that of a window by 0.06. With
      2 nats, none of 8,000 windows was bad. With 3 nats 56 were, but not five in a row.
    - A spike that comes back. One of 7 nats that falls to a third each 60 steps makes two bad windows, each 140 four.
    - At the start nothing is learned yet, and the limit is 1 nat above ln V (or above the first loss, if that is more:
      a model that is fine-tuned may be sure of the wrong words).
    - What is judged has no label smoothing in it. Fine-tuning may forget almost a quarter, and long
      sentences may cost 1 nat more than the short ones before them.
    """

    window = 50  # steps whose mean loss is judged
    most_bad = 5  # windows in a row

    def __init__(self, vocab_size: int) -> None:
        self.ignorance = math.log(vocab_size)
        self.best = math.inf  # the lowest mean; before the first window, what the loss is at the start
        self.began, self.n, self.sum = 0, 0, 0.0  # the window of now: after which step, and the steps in it
        self.mean = 0.0  # of the latest window, to tell it
        self.n_bad = 0  # windows in a row
        self.trusted = 0  # states up to this step are good: a good window came after them

    @property
    def is_worried(self) -> bool:
        """Whether the latest window was bad."""
        return self.n_bad > 0

    @property
    def has_diverged(self) -> bool:
        return self.n_bad >= self.most_bad

    @property
    def limit(self) -> float:
        """Above this, a window is bad."""
        return self.best + max(_LEAST_RISE, _LOST * (self.ignorance - self.best))

    def see(self, step: int, loss: float) -> None:
        """Take the loss of a step into account, in nats per token; steps that were skipped are left out."""
        if math.isinf(self.best):
            self.best = max(self.ignorance, loss)
        if self.n == 0:
            self.began = step - 1
        self.n, self.sum = self.n + 1, self.sum + loss
        if self.n == self.window:
            self._judge()

    def _judge(self) -> None:
        self.mean = self.sum / self.n
        if self.mean > self.limit:
            self.n_bad += 1
        else:
            self.n_bad = 0
            self.best, self.trusted = min(self.best, self.mean), self.began
        self.n, self.sum = 0, 0.0

    def go_back(self, state: Mapping[str, Any]) -> None:
        """Judge anew, from a state that the run goes back to. Its lowest loss counts, since it may be far behind."""
        self.best = state["best"]
        self.n, self.sum, self.n_bad = 0, 0.0, 0

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _STATE}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name, type_of in _STATE.items():
            setattr(self, name, type_of(state[name]))
