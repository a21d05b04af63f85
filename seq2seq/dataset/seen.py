"""What the text was like that a model was trained on: its lengths, and the marks and capitals of its sources.

Translation asks this, since models are bad at lengths and at writing that they have not seen.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.letter_case import is_in_capitals, is_in_title_case
from seq2seq.corpus.sentences import n_sentences
from seq2seq.dataset.plan import blocks

PERCENTS = (0, 1, 5, 25, 50, 75, 95, 99, 99.9, 100)
MOST_SENTENCES = 10  # lines of more sentences are counted with these
_MOST_LINES = 4_000  # of a source, which are looked at: a share of 5% is then 1% wrong at most, 19 times of 20
_USUAL = 0.05  # of the lines; fewer are mistakes of the corpus or of our rules


@dataclass(frozen=True)
class Looks:
    """How source lines are written, as shares of the lines that are not blank.

    Attributes:
        characters: the share that has each character which is no letter, no digit and not the plain space.
        capitals, titles: the share in capitals and in title case, see `letter_case`.
    """

    characters: Mapping[str, float]
    capitals: float
    titles: float


@dataclass(frozen=True)
class SeenText:
    """What an epoch of training has, as plain JSON types.

    Attributes:
        n_pairs: different pairs, however often an epoch repeats them.
        src_tokens: for each percentage ("0", "1", ..., "99.9", "100"), the number of tokens that so many of the sources
            do not exceed. Special ids do not count, nor do tags.
        tgt_tokens: the same for targets.
        sentences: the share of the source lines that have 1, 2, ..., 9 sentences, and 10 or more; estimated from
            at most 4,000 lines of each corpus source. Empty if no line has a sentence.
        looks: of the source lines, estimated from the same lines; None if an older version saved the model.
    """

    n_pairs: int
    src_tokens: Mapping[str, int]
    tgt_tokens: Mapping[str, int]
    sentences: Sequence[float]
    looks: Looks | None = None

    @classmethod
    def from_json(cls, content: Any) -> "SeenText":
        """Read what `dataclasses.asdict` gave.

        Raises:
            ValueError: it is something else.
        """
        try:
            src_tokens, tgt_tokens = (
                {_name(percent): int(content[side][_name(percent)]) for percent in PERCENTS}
                for side in ("src_tokens", "tgt_tokens")
            )
            sentences = [float(share) for share in content["sentences"]]
            looks = None if content.get("looks") is None else _looks_from_json(content["looks"])
            return cls(int(content["n_pairs"]), src_tokens, tgt_tokens, sentences, looks)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
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
class SeenSource:
    """The pairs of one corpus source.

    Attributes:
        src, tgt: tokens of each side, without special ids and tags.
        sentences: how many source lines have 1, 2, ..., 9, and 10 or more sentences, of those that were counted.
        looks: of its source lines.
        times: how often an epoch of training repeats each pair.
    """

    src: NDArray[np.integer[Any]]
    tgt: NDArray[np.integer[Any]]
    sentences: Sequence[int]
    looks: Looks
    times: float = 1.0


def seen_in_epoch(sources: Sequence[SeenSource]) -> SeenText:
    """What an epoch has that repeats the pairs of all `sources`."""
    n_lines = [len(source.src) * source.times if sum(source.sentences) else 0.0 for source in sources]
    weights = [n / max(sum(n_lines), 1e-9) for n in n_lines]

    def mean(values: Iterable[float]) -> float:
        return round(sum(weight * value for weight, value in zip(weights, values, strict=True)), 6)

    looks = [source.looks for source in sources]
    characters = dict.fromkeys(chain.from_iterable(each.characters for each in looks))
    return SeenText(
        sum(len(source.src) for source in sources),
        _percentiles([(source.src, source.times) for source in sources]),
        _percentiles([(source.tgt, source.times) for source in sources]),
        [
            mean(source.sentences[k] / max(sum(source.sentences), 1) for source in sources)
            for k in range(MOST_SENTENCES if any(n_lines) else 0)
        ],
        Looks(
            {character: mean(each.characters.get(character, 0.0) for each in looks) for character in characters},
            mean(each.capitals for each in looks),
            mean(each.titles for each in looks),
        ),
    )


def _looks_from_json(content: Any) -> Looks:
    characters = {str(character): float(share) for character, share in content["characters"].items()}
    return Looks(characters, float(content["capitals"]), float(content["titles"]))


def step_after(n_lines: int) -> int:
    """From one line that `LineSample` looks at to the next one, when so many lines have come; a power of two."""
    return 1 << max(-(-n_lines // _MOST_LINES) - 1, 0).bit_length()


class LineSample:
    """Looks at lines of a stream: at all of them, or at up to 4,000 that lie evenly spread in it."""

    def __init__(self) -> None:
        self._lines: dict[int, str] = {}  # by their places in the stream
        self._n_lines = 0

    def add(self, n_lines: int, lines: Mapping[int, str]) -> None:
        """The next lines of the stream, by their places among these: all of them, or those that are looked at."""
        self._lines |= {self._n_lines + place: line for place, line in lines.items()}
        self._n_lines += n_lines
        step = step_after(self._n_lines)
        self._lines = {place: line for place, line in self._lines.items() if place % step == 0}

    def sentences(self) -> list[int]:
        """How many of these lines have 1, 2, ..., 9, and 10 or more sentences. Blank lines are left out."""
        counts = Counter(min(n_sentences(line), MOST_SENTENCES) for line in self._lines.values())
        return [counts[n] for n in range(1, MOST_SENTENCES + 1)]

    def looks(self) -> Looks:
        """How these lines are written."""
        lines = [line for line in self._lines.values() if line.strip()]
        n_lines = max(len(lines), 1)
        marks = (c for line in lines for c in sorted(set(line)) if not c.isalnum() and c != " ")
        return Looks(
            {character: round(n / n_lines, 6) for character, n in Counter(marks).most_common()},
            round(sum(map(is_in_capitals, lines)) / n_lines, 6),
            round(sum(map(is_in_title_case, lines)) / n_lines, 6),
        )


def _percentiles(sources: Sequence[tuple[NDArray[np.integer[Any]], float]]) -> dict[str, int]:
    """For each percentage, the length that so many of the sentences do not exceed."""
    longest = max((int(lengths.max()) for lengths, _ in sources if len(lengths)), default=0)
    n_sentences_of_length = sum(
        (
            times * np.bincount(lengths[block], minlength=longest + 1)  # which takes 8 bytes a length
            for lengths, times in sources
            for block in blocks(len(lengths))
        ),
        np.zeros(longest + 1),
    )
    up_to = np.cumsum(n_sentences_of_length)
    present = np.flatnonzero(n_sentences_of_length)
    # Rounded, since 99.9 / 100 and many values of `times` are not exact.
    places = np.searchsorted(np.round(up_to[present], 6), np.round(np.multiply(PERCENTS, up_to[-1] / 100), 6))
    return {_name(percent): int(present[place]) for percent, place in zip(PERCENTS, places, strict=True)}


def _name(percent: float) -> str:
    return f"{percent:g}"
