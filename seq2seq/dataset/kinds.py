"""The two kinds of text that a run can have: sentence pairs, or texts with labels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from seq2seq.corpus.labels import checked_labels, learned_labels, read_labelled
from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import Source
from seq2seq.dataset.encoding import Encode
from seq2seq.dataset.labels import Labels
from seq2seq.dataset.store import PairStore
from seq2seq.dataset.subword_text import subword_text


class ParallelText:
    """Sentences and their translations."""

    labels: Sequence[str] = ()
    key: Mapping[str, Any] = {}  # what it adds to the key of a cache entry

    def read(self, source: Source) -> Iterator[tuple[str, str]]:
        """All pairs of a corpus source, in order."""
        return read_pairs(source)

    def checked(self, pairs: Iterable[tuple[str, str]], source: Source, first: int) -> Iterable[tuple[str, str]]:
        """These pairs of a source, of which the first stands in line `first`."""
        return pairs

    def subword_text(self, pairs: Iterator[tuple[str, str]], shares: Mapping[str, float]) -> Iterator[str]:
        """The lines that subwords are learned from; `shares` of them are in disguise."""
        return subword_text(pairs, shares)

    def encode_tgt(self, encode: Encode) -> Encode:
        """What makes targets ids.

        Args:
            encode: what makes text ids.
        """
        return encode

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

    def checked(self, pairs: Iterable[tuple[str, str]], source: Source, first: int) -> Iterable[tuple[str, str]]:
        return checked_labels(pairs, source, self.labels, first)

    def subword_text(self, pairs: Iterator[tuple[str, str]], shares: Mapping[str, float]) -> Iterator[str]:
        return (text for text, _ in pairs)

    def encode_tgt(self, encode: Encode) -> Encode:
        return self._labels.encode

    def facts(self, store: PairStore) -> dict[str, Any]:
        counts = Counter(self.labels[number] for number in self._labels.of_store(store).tolist())
        return {"labels": {label: counts[label] for label in self.labels}}


TextKind = ParallelText | LabelledText
