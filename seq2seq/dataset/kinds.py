"""The two kinds of text that a run can have: sentence pairs, or texts with labels."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seq2seq.corpus.labels import learned_labels, read_labelled
from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import Source
from seq2seq.dataset.labels import Labels
from seq2seq.dataset.store import Encode, PairStore
from seq2seq.dataset.subword_text import subword_text
from seq2seq.tokenizer import Tokenizer


class ParallelText:
    """Sentences and their translations."""

    labels: Sequence[str] = ()
    key: Mapping[str, Any] = {}  # what it adds to the key of a cache entry

    def read(self, source: Source) -> Iterator[tuple[str, str]]:
        """All pairs of a corpus source, in order."""
        return read_pairs(source)

    def subword_text(self, pairs: Iterator[tuple[str, str]], shares: Mapping[str, float]) -> Iterator[str]:
        """The lines that subwords are learned from; `shares` of them are in disguise."""
        return subword_text(pairs, shares)

    def encode_tgt(self, tokenizer: Tokenizer) -> Encode:
        """What makes targets ids."""
        return tokenizer.encode

    def facts(self, store: PairStore) -> dict[str, Any]:
        """What it adds to the data report of a split."""
        return {}


class LabelledText:
    """Texts with their labels; as `ParallelText`. Subwords are learned from the texts alone."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self.labels = labels.names
        self.key = {"labels": list(labels)}

    @classmethod
    def of(cls, train: Sequence[Source]) -> "LabelledText":
        """With the labels of the training text.

        Raises:
            CorpusError: as `learned_labels`.
        """
        return cls(Labels(learned_labels(train)))

    def read(self, source: Source) -> Iterator[tuple[str, str]]:
        return read_labelled(source, self.labels)

    def subword_text(self, pairs: Iterator[tuple[str, str]], shares: Mapping[str, float]) -> Iterator[str]:
        return (text for text, _ in pairs)

    def encode_tgt(self, tokenizer: Tokenizer) -> Encode:
        return self._labels.encode

    def facts(self, store: PairStore) -> dict[str, Any]:
        counts = Counter(self.labels[number] for number in self._labels.of_store(store).tolist())
        return {"labels": {label: counts[label] for label in self.labels}}


TextKind = ParallelText | LabelledText
