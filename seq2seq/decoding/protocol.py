"""What a search needs from a model: the scores of the next token, for several hypotheses of each sentence.

Several models can be searched as one: by the weighted mean of their probabilities.

Shapes: B sentences, S source tokens, K hypotheses a sentence, M models, V vocabulary
"""

import math
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from seq2seq.errors import ConfigError

State = TypeVar("State")


class NextTokenScores(Protocol[State]):
    """A model as a search sees it. A state may change in place, so an old one must not be used again."""

    def start(self, src: Tensor, max_length: int) -> State:
        """Read sources (B, S), each ending with eos and padded with pad, for at most `max_length` steps."""

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """Append one token (B, K) to each hypothesis. Returns the logits (B, K, V) of the token after it.

        The first call has bos, (B, 1), for one hypothesis of each sentence. The caller may change the logits.
        """

    def reorder(self, state: State, parents: Tensor) -> State:
        """Make hypothesis k of sentence b a copy of hypothesis `parents[b, k]` of that sentence; (B, K')."""

    def select(self, state: State, sentences: Tensor) -> State:
        """Keep only these sentences, (B',) row numbers in ascending order, some of them as several copies."""


def shares_of(weights: Sequence[float], n_models: int) -> list[float]:
    """The share of each model in the mean, in the order of the models. Shares sum to 1.

    Args:
        weights: one for each model, in any unit; none: all models count the same.
    Raises:
        ConfigError: there are not as many weights as models, or one of them is not a positive number.
    """
    if not weights:
        return [1 / n_models] * n_models
    if len(weights) != n_models:
        raise ConfigError(f"there are {len(weights)} weights for {n_models} models; give one for each model")
    total = sum(weights)
    for weight in weights:
        if not (weight > 0 and 0 < weight / total <= 1):
            raise ConfigError(f"the weight {weight} of a model is not a number above 0; leave out models that count 0")
    return [weight / total for weight in weights]


def mean_logits(logits: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    """log of the weighted mean over models of softmax(logits), each (..., V), in float32, plus a constant for each row.

    The constant is the weighted mean of what log_softmax subtracts in each model, so a model together with itself has
    its own logits. It changes no probability. But a repetition penalty acts on the sign of a logit, and a
    log-probability is never positive.
    """
    scores = [each.float() for each in logits]
    log_probs = [each.log_softmax(-1) for each in scores]
    subtracted = [a.amax(-1, keepdim=True) - b.amax(-1, keepdim=True) for a, b in zip(scores, log_probs, strict=True)]
    level = sum(share * each for share, each in zip(shares, subtracted, strict=True))  # (..., 1)
    weighted = [each + math.log(share) for each, share in zip(log_probs, shares, strict=True)]
    return torch.stack(weighted).logsumexp(0) + level  # (M, ..., V) -> (..., V)


class Ensemble(Generic[State]):
    """Models with the same vocabulary, searched as if they were one; see `NextTokenScores`."""

    def __init__(self, models: Sequence[NextTokenScores[State]], weights: Sequence[float] = ()) -> None:
        """`weights`: see `shares_of`."""
        self.models = models
        self.shares = shares_of(weights, len(models))

    def start(self, src: Tensor, max_length: int) -> list[State]:
        """Read sources (B, S)."""
        return [model.start(src, max_length) for model in self.models]

    def step(self, states: list[State], tokens: Tensor) -> tuple[Tensor, list[State]]:
        """Append one token (B, K) to each hypothesis. Returns the joint logits (B, K, V) of the token after it."""
        steps = [model.step(state, tokens) for model, state in zip(self.models, states, strict=True)]
        return mean_logits([logits for logits, _ in steps], self.shares), [state for _, state in steps]

    def reorder(self, states: list[State], parents: Tensor) -> list[State]:
        """Make hypothesis k of sentence b a copy of hypothesis `parents[b, k]`."""
        return [model.reorder(state, parents) for model, state in zip(self.models, states, strict=True)]

    def select(self, states: list[State], sentences: Tensor) -> list[State]:
        """Keep these sentences."""
        return [model.select(state, sentences) for model, state in zip(self.models, states, strict=True)]
