"""What the training text says about the sentences of a test set."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from seq2seq.analysis.words import letter_words
from seq2seq.corpus.hashes import contained, hash_lines
from seq2seq.dataset.store import PairStore
from seq2seq.tokenizer import Tokenizer

MOST_LINES = 1_000_000  # of the training text whose words are counted: a quarter of a minute
_BLOCK = 10_000  # lines at a time


@dataclass(frozen=True)
class TrainingText:
    """Answers to questions about some words only, so that the words of a large text need no memory.

    Attributes:
        src_counts: how often each of these words is in the sources.
        tgt_words: those of these words that are in the targets.
        n_counted, n_lines: how many of the lines were looked at, at equal distances.
    """

    store: PairStore
    src_counts: Counter[str]
    tgt_words: Collection[str]
    n_counted: int
    n_lines: int

    @classmethod
    def read(
        cls, store: PairStore, tokenizer: Tokenizer, words: Collection[str], most_lines: int = MOST_LINES
    ) -> "TrainingText":
        """Look for words in the pairs of a store.

        Args:
            words: as `letter_words` gives them.
        """
        step = -(-len(store) // most_lines)
        indices = range(0, len(store), step)
        src, tgt = (_count(_lines(store, tokenizer, side, indices), words) for side in ("src", "tgt"))
        return cls(store, src, set(tgt), len(indices), len(store))

    @property
    def note(self) -> str:
        """What a reader has to know about the counts; empty if they are of all lines."""
        if self.n_counted == self.n_lines:
            return ""
        return (
            f"Words were counted in {self.n_counted:,} of the {self.n_lines:,} pairs of the training text, at equal "
            "distances, so that a word with the count 0 may be in it."
        )

    def has_sources(self, lines: Sequence[str]) -> list[bool]:
        """Whether each line is a source of the training text, character for character."""
        return [bool(known) for known in contained(hash_lines(lines), self.store.hashes["src"])]

    def rarest_count(self, line: str) -> int | None:
        """How often the rarest word of a line is in the sources; None if the line has no word of letters."""
        return min((self.src_counts[word] for word in letter_words(line)), default=None)


def _count(lines: Iterator[str], words: Collection[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(filter(words.__contains__, letter_words(line)))
    return counts


def _lines(store: PairStore, tokenizer: Tokenizer, side: str, indices: Sequence[int]) -> Iterator[str]:
    """The lines of one side as they were read, or as the tokenizer has normalised them if the store has no text."""
    text, ids = (store.src_text, store.src) if side == "src" else (store.tgt_text, store.tgt)
    tokenizer = tokenizer if side == "src" else tokenizer.target
    for start in range(0, len(indices), _BLOCK):
        block = indices[start : start + _BLOCK]
        yield from map(text, block) if store.has_text else tokenizer.decode([ids(i).tolist() for i in block])
