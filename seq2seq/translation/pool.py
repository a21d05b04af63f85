"""Which sentences go to the engine together.

Sentences wait in a pool until enough of them are there. Then the oldest one leaves it, together with those nearest to
it in length, since a batch costs as much as its longest sentence. So no sentence waits for long, and batches are full.
The batches are a function of the sentences, of their order, and of when the pool is told to give up some: not of how
fast the workers are.
"""

from bisect import bisect_left, insort
from typing import Generic, TypeVar

from seq2seq.decoding.rounding import round_down

K = TypeVar("K")

# A pool is full when it holds this many full batches. With less, neighbours in length are further apart.
FULL_BATCHES = 12
_SMALLEST_SHARE = 1 / 8  # of a full batch, at the end of the text: smaller ones cost more than they share out


class Pool(Generic[K]):
    """Sentences that wait for a batch."""

    def __init__(self, max_batch_tokens: int, n_hypotheses: int) -> None:
        """
        Args:
            max_batch_tokens: sentences * (tokens of the longest, eos counted) * hypotheses <= max_batch_tokens, but a
                batch has at least one sentence.
        """
        self._max_batch_tokens = max_batch_tokens
        self._n_hypotheses = n_hypotheses
        self._keys: dict[int, K] = {}  # by arrival, oldest first
        self._lengths: dict[int, int] = {}
        self._by_length: list[tuple[int, int]] = []  # (length, arrival), sorted
        self._n_arrived = 0
        self._cost = 0

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def is_full(self) -> bool:
        return self._cost >= FULL_BATCHES * self._max_batch_tokens

    @property
    def oldest(self) -> K:
        """The sentence that came first."""
        return next(iter(self._keys.values()))

    def add(self, key: K, n_tokens: int) -> None:
        """Add a sentence of `n_tokens` tokens without eos."""
        length = n_tokens + 1
        arrival = self._n_arrived
        self._n_arrived += 1
        self._keys[arrival] = key
        self._lengths[arrival] = length
        insort(self._by_length, (length, arrival))
        self._cost += length * self._n_hypotheses

    def take(self, n_sharing: int = 0) -> list[K]:
        """Take the next batch out of the pool, which must not be empty: keys of sentences, longest first.

        The number of sentences is one that `round_down` gives, or all that are left.

        Args:
            n_sharing: at the end of the text, the number of workers, so that they end at about the same time.
        """
        budget = self._max_batch_tokens
        if n_sharing:
            share = max(self._cost // n_sharing, int(budget * _SMALLEST_SHARE))
            budget = min(budget, share)
        begin, end = self._nearest_to_oldest(budget)
        taken = self._by_length[begin:end]
        del self._by_length[begin:end]
        for length, arrival in taken:
            self._cost -= length * self._n_hypotheses
            del self._lengths[arrival]
        return [self._keys.pop(arrival) for _, arrival in reversed(taken)]

    def _nearest_to_oldest(self, budget: int) -> tuple[int, int]:
        """The range of `_by_length` that goes into the next batch."""
        oldest = next(iter(self._keys))
        length = self._lengths[oldest]
        begin = bisect_left(self._by_length, (length, oldest))
        end = begin + 1
        ranges = [(begin, end)]  # one for each number of sentences
        while end - begin < len(self._by_length):
            shorter = length - self._by_length[begin - 1][0] if begin else None
            longer = self._by_length[end][0] - length if end < len(self._by_length) else None
            if longer is None or (shorter is not None and shorter <= longer):
                begin -= 1
            else:
                end += 1
            if (end - begin) * self._by_length[end - 1][0] * self._n_hypotheses > budget:
                return ranges[round_down(len(ranges)) - 1]
            ranges.append((begin, end))
        return begin, end
