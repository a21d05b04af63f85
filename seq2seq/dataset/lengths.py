"""How long the texts are that a model was trained on. Translation asks this, since models are bad at other lengths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.sentences import n_sentences

PERCENTS = (0, 1, 5, 25, 50, 75, 95, 99, 99.9, 100)
MOST_SENTENCES = 10  # lines of more sentences are counted with these
_MOST_LINES = 4_000  # of which sentences are counted: a share of 5% is then 1% wrong at most, 19 times of 20
_USUAL = 0.05  # of the lines; fewer are mistakes of the corpus or of our rules


@dataclass(frozen=True)
class TrainingLengths:
    """The lengths in an epoch of training, as plain JSON types.

    Attributes:
        n_pairs: different pairs, however often an epoch repeats them.
        src_tokens: for each percentage ("0", "1", ..., "99.9", "100"), the number of tokens that so many of the sources
            do not exceed. Special ids do not count, nor do tags.
        tgt_tokens: the same for targets.
        sentences: the share of the source lines that have 1, 2, ..., 9 sentences, and 10 or more; estimated from
            at most 4,000 lines of each corpus source. Empty if no line has a sentence.
    """

    n_pairs: int
    src_tokens: Mapping[str, int]
    tgt_tokens: Mapping[str, int]
    sentences: Sequence[float]

    @classmethod
    def from_json(cls, content: Any) -> "TrainingLengths":
        """Read what `dataclasses.asdict` gave.

        Raises:
            ValueError: it is something else.
        """
        try:
            src_tokens, tgt_tokens = (
                {_name(percent): int(content[side][_name(percent)]) for percent in PERCENTS}
                for side in ("src_tokens", "tgt_tokens")
            )
            return cls(
                int(content["n_pairs"]), src_tokens, tgt_tokens, [float(share) for share in content["sentences"]]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the lengths of a training text [{error!r}]") from error

    @property
    def longest_source(self) -> int:
        """Tokens of the longest sources, but for one in a thousand: of longer ones a model has seen too few."""
        return self.src_tokens["99.9"]

    @property
    def usual_sentences(self) -> int:
        """The most sentences that at least 5% of the lines have: 1 if lines of two or more are rare."""
        more = [k for k in range(2, len(self.sentences) + 1) if sum(self.sentences[k - 1 :]) >= _USUAL - 1e-9]
        return max(more, default=1)

    def __str__(self) -> str:
        src, tgt = self.src_tokens, self.tgt_tokens
        lines = "one sentence" if self.usual_sentences == 1 else f"up to {self.usual_sentences} sentences"
        return (
            f"{self.n_pairs:,} pairs; sources of {src['0']} to {src['100']} tokens (99% up to {src['99']}), "
            f"targets of {tgt['0']} to {tgt['100']} (99% up to {tgt['99']}); {lines} a line"
        )


@dataclass(frozen=True)
class SourceLengths:
    """The lengths of the pairs of one corpus source.

    Attributes:
        src, tgt: tokens of each side, without special ids and tags.
        sentences: how many source lines have 1, 2, ..., 9, and 10 or more sentences, of those that were counted.
        times: how often an epoch of training repeats each pair.
    """

    src: NDArray[np.integer[Any]]
    tgt: NDArray[np.integer[Any]]
    sentences: Sequence[int]
    times: float = 1.0


def training_lengths(sources: Sequence[SourceLengths]) -> TrainingLengths:
    """The lengths in an epoch that has the pairs of all `sources`."""
    n_lines = [len(source.src) * source.times if sum(source.sentences) else 0.0 for source in sources]
    shares = [
        sum(n * source.sentences[k] / sum(source.sentences) for n, source in zip(n_lines, sources, strict=True) if n)
        / sum(n_lines)
        for k in range(MOST_SENTENCES if sum(n_lines) else 0)
    ]
    return TrainingLengths(
        sum(len(source.src) for source in sources),
        _percentiles([(source.src, source.times) for source in sources]),
        _percentiles([(source.tgt, source.times) for source in sources]),
        [round(share, 6) for share in shares],
    )


class SentenceCounter:
    """Counts the sentences in lines of a stream: in all of them, or in up to 4,000 that lie evenly spread in it."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._step = 1  # from one of these lines to the next one
        self._n_lines = 0

    def add(self, lines: Sequence[str]) -> None:
        """The next lines of the stream."""
        self._lines += lines[-self._n_lines % self._step :: self._step]
        self._n_lines += len(lines)
        while len(self._lines) > _MOST_LINES:
            self._lines = self._lines[::2]
            self._step *= 2

    def histogram(self) -> list[int]:
        """How many of the counted lines have 1, 2, ..., 9, and 10 or more sentences. Blank lines are left out."""
        counts = np.bincount(
            [min(n_sentences(line), MOST_SENTENCES) for line in self._lines], minlength=MOST_SENTENCES + 1
        )
        return [int(n) for n in counts[1:]]


def _percentiles(sources: Sequence[tuple[NDArray[np.integer[Any]], float]]) -> dict[str, int]:
    """For each percentage, the length that so many of the sentences do not exceed."""
    longest = max((int(lengths.max()) for lengths, _ in sources if len(lengths)), default=0)
    n_sentences_of_length = sum(times * np.bincount(lengths, minlength=longest + 1) for lengths, times in sources)
    up_to = np.cumsum(n_sentences_of_length)
    present = np.flatnonzero(n_sentences_of_length)
    # Rounded, since 99.9 / 100 and many values of `times` are not exact.
    places = np.searchsorted(np.round(up_to[present], 6), np.round(np.multiply(PERCENTS, up_to[-1] / 100), 6))
    return {_name(percent): int(present[place]) for percent, place in zip(PERCENTS, places, strict=True)}


def _name(percent: float) -> str:
    return f"{percent:g}"
