"""What all searches have in common: ask the model, notice which sentences are done, go on with the others.

Shapes: B sentences, S source tokens, K hypotheses a sentence, V vocabulary
"""

from collections.abc import Sequence
from typing import Generic

import torch
from torch import Tensor

from seq2seq.decoding.constraints import Constraints
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.rows import Rows
from seq2seq.vocabulary import BOS


class SearchBatch(Generic[State]):
    """The sentences of a search: the state of those that are still open, and what was found for the others.

    A search has tensors with one row for each sentence. After each step it stores the hypotheses of the sentences that
    are `newly_done`, and keeps of its tensors the rows that `shrink` names.
    """

    def __init__(self, model: NextTokenScores[State], src: Tensor, constraints: Constraints) -> None:
        """src: (B, S)."""
        self._model = model
        self._constraints = constraints
        self._state = model.start(src, constraints.longest)
        self._rows = Rows(len(src))
        self._device = src.device
        self.first_tokens = src.new_full((len(src), 1), BOS)  # (B, 1): a search begins with one hypothesis a sentence
        self.found: list[list[Hypothesis]] = [[] for _ in range(len(src))]  # in the order of the sources

    def step(self, tokens: Tensor) -> Tensor:
        """Append one token (B, K) to each hypothesis; logits (B, K, V) of the token after it."""
        logits, self._state = self._model.step(self._state, tokens)
        return logits

    def reorder(self, parents: Tensor) -> None:
        """Make hypothesis k of sentence b a copy of hypothesis `parents[b, k]` of that sentence."""
        self._state = self._model.reorder(self._state, parents)

    def newly_done(self, is_done: Sequence[bool]) -> list[tuple[int, int]]:
        """(row, sentence) of each sentence that this step ended; `found[sentence]` is the place for its hypotheses.

        Args:
            is_done: for each row, whether its sentence is done. A row that was done before may have any value.
        """
        return self._rows.newly_done(is_done)

    def sentence(self, row: int) -> int:
        """The number of the sentence in this row."""
        return self._rows.sentences[row]

    @property
    def all_done(self) -> bool:
        return self._rows.all_done

    def shrink(self) -> Tensor | None:
        """If enough sentences are done, drop them. Returns the rows that stay, in their order; None if all stay.

        At least one sentence must be open.
        """
        staying = self._rows.shrink()
        if staying is None:
            return None
        kept = torch.tensor(staying, device=self._device)
        self._state = self._model.select(self._state, kept)
        self._constraints.select(kept)
        return kept
