"""Labels as targets of one token.

So a store holds labelled text as it holds parallel text, and the plan, the batches and the position of a run know no
difference. As any target, a label is followed by eos in its batch.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from seq2seq.dataset.store import PairStore
from seq2seq.vocabulary import EOS

FIRST_LABEL = EOS + 1  # the id of the first label: those before have the same meaning in every vocabulary


class Labels:
    """The labels of a classifier. The number of a label is its place here; its id follows the special ids."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def encode(self, labels: Sequence[str]) -> list[list[int]]:
        """The target of each sentence with this label."""
        return [[FIRST_LABEL + self._numbers[label]] for label in labels]

    @staticmethod
    def of_store(store: PairStore) -> NDArray[np.int64]:
        """The number of the label of each sentence."""
        return np.array([store.tgt(i)[0] for i in range(len(store))], dtype=np.int64) - FIRST_LABEL
