"""Several models as one: the mean of their probabilities.

Shapes: B sentences, S source tokens, K hypotheses a sentence, M models, V vocabulary
"""

import math
from collections.abc import Sequence
from typing import Generic

import torch
from torch import Tensor

from seq2seq.decoding.protocol import NextTokenScores, State


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """log of the mean over models of softmax(logits), each (..., V), in float32."""
    log_probs = torch.stack([each.float().log_softmax(-1) for each in logits])  # (M, ..., V)
    return log_probs.logsumexp(0) - math.log(len(logits))


class Ensemble(Generic[State]):
    """Models with the same vocabulary, searched as if they were one; see `NextTokenScores`."""

    def __init__(self, models: Sequence[NextTokenScores[State]]) -> None:
        self.models = models

    def start(self, src: Tensor, max_length: int) -> list[State]:
        """Read sources (B, S)."""
        return [model.start(src, max_length) for model in self.models]

    def step(self, states: list[State], tokens: Tensor) -> tuple[Tensor, list[State]]:
        """Append one token (B, K) to each hypothesis. Returns log-probabilities (B, K, V) of the token after it."""
        steps = [model.step(state, tokens) for model, state in zip(self.models, states, strict=True)]
        return mean_log_probs([logits for logits, _ in steps]), [state for _, state in steps]

    def reorder(self, states: list[State], parents: Tensor) -> list[State]:
        """Make hypothesis k of sentence b a copy of hypothesis `parents[b, k]`."""
        return [model.reorder(state, parents) for model, state in zip(self.models, states, strict=True)]

    def select(self, states: list[State], sentences: Tensor) -> list[State]:
        """Keep these sentences."""
        return [model.select(state, sentences) for model, state in zip(self.models, states, strict=True)]
