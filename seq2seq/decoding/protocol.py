"""What a search needs from a model: the scores of the next token, for several hypotheses of each sentence.

Shapes: B sentences, S source tokens, K hypotheses a sentence, V vocabulary
"""

from typing import Protocol, TypeVar

from torch import Tensor

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
        """Keep only these sentences, (B',) row numbers in ascending order."""
