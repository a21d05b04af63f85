"""Search for the best translations of a batch, given the scores of the next token.

Here is what a search needs from a model and what it returns, and its batches: which sentences are searched together,
and which of them are still open. CTranslate2 needs some of it, and no torch. Go on with greedy.py, beam.py,
constraints.py and search.py.

Shapes: B sentences, S source tokens, K hypotheses a sentence, V vocabulary
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from seq2seq.config import DecodingConfig
from seq2seq.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    from torch import Tensor

    from seq2seq.decoding.constraints import Constraints

State = TypeVar("State")


@dataclass(frozen=True)
class Hypothesis:
    """One translation, as token ids.

    Attributes:
        tokens: without bos and eos. There are none only if no token was possible at all.
        log_prob: sum over the tokens, eos included if there is one, in nats; at most 0.
        score: log_prob divided by the length penalty (`length_penalty`); higher is better.
        finished: True if it ended with eos. False if it was cut: at the length limit, or where the rules of the search
            left no token that could follow.
        missing: how many of the required phrases it does not have; 0 if it is finished.
    """

    tokens: list[int]
    log_prob: float
    score: float
    finished: bool
    missing: int = 0

    @classmethod
    def from_tokens(cls, tokens: Sequence[int], log_prob: float, config: DecodingConfig) -> "Hypothesis":
        """The hypothesis with the tokens before the first eos or pad (no other token was possible), or with all."""
        n = next((i for i, token in enumerate(tokens) if token in (EOS, PAD)), len(tokens))
        finished = n < len(tokens) and tokens[n] == EOS
        penalty = length_penalty(max(1, n + finished), config.normalization, config.alpha)
        return cls(list(tokens[:n]), log_prob, log_prob / penalty, finished)


def length_penalty(n_tokens: int, normalization: str, alpha: float) -> float:
    """Divisor that keeps a search from preferring short hypotheses.

    none:    1
    length:  n ** alpha
    gnmt:    ((5 + n) / 6) ** alpha        (Wu et al. 2016, section 7; Vaswani et al. 2017 take alpha = 0.6)

    None of them falls as n grows. The stopping rule of `beam.py` relies on it.

    Args:
        n_tokens: of the hypothesis, `eos` counted and `bos` not; at least 1.
        normalization: one of the names above.
        alpha: at least 0; 0 makes all three equal.
    Returns:
        What to divide a hypothesis's summed log-probability (nats) by.
    """
    if normalization == "none":
        return 1.0
    return float((n_tokens if normalization == "length" else (5 + n_tokens) / 6) ** alpha)


def length_limit(n_src: int, config: DecodingConfig, max_length: int, n_forced: int = 0) -> int:
    """Most tokens that a hypothesis may have, `eos` counted: a * n_src + b, within what the model can do.

    A forced prefix and required phrases raise the limit, so that there is room for them and for one more token.

    Args:
        n_src: source tokens, `eos` not counted.
        max_length: the model's own limit, in decoder steps; at least 1.
        n_forced: tokens of the prefix and of the phrases that the hypothesis must have.
    Returns:
        At least 1.
    """
    return min(max(int(config.max_length_a * n_src + config.max_length_b), n_forced + 1), max_length)


def min_length(n_src: int, config: DecodingConfig, limit: int) -> int:
    """Fewest tokens that a hypothesis must have, `eos` not counted: a * n_src + b, at least 1.

    Args:
        n_src: source tokens, `eos` not counted.
        limit: what `length_limit` gives for the same source. The result is not above it.
    """
    return min(max(int(config.min_length_a * n_src + config.min_length_b), 1), limit)


# --- batches ---
#
# Their sizes have few significant bits, since oneDNN compiles its kernels for each size.

_SHARE = 1 / 2  # of what is left at the end of a text, in a batch
_SMALLEST = 1 / 8  # of a full batch: smaller ones cost more than they share out


def plan_batches(lengths: Sequence[int], config: DecodingConfig, *, is_split: bool = False) -> Iterator[list[int]]:
    """Indices of the sources decoded together, longest first. Sources without tokens are in no batch.

    The longest come first so that running out of memory happens at once. The size of a batch is

        sentences * (tokens of the longest source, eos counted) * hypotheses of a sentence <= max_batch_tokens

    but each batch has at least one sentence. The number of sentences is one that `round_down` gives, except that the
    last batch takes what is left.

    Args:
        is_split: make the last batches smaller and smaller, so that workers that share them end at about the same time.
    """
    by_length = sorted((i for i, n in enumerate(lengths) if n), key=lambda i: -lengths[i])
    n_left = sum(lengths[i] + 1 for i in by_length) * n_hypotheses(config)
    begin = 0
    while begin < len(by_length):
        budget = config.max_batch_tokens
        if is_split:
            budget = min(budget, max(int(n_left * _SHARE), int(budget * _SMALLEST)))
        cost = (lengths[by_length[begin]] + 1) * n_hypotheses(config)
        end = begin + round_down(max(1, budget // cost))
        yield by_length[begin:end]
        n_left -= sum(lengths[i] + 1 for i in by_length[begin:end]) * n_hypotheses(config)
        begin = end


def n_hypotheses(config: DecodingConfig) -> int:
    """How many hypotheses of a sentence are searched side by side."""
    return config.n_best if config.sampling else config.beam_size


def round_up(n: int) -> int:
    """The smallest of 1 to 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, ... (three significant bits) that is not below n."""
    step = 1 << max(0, n.bit_length() - 3)
    return -(-n // step) * step


def round_down(n: int) -> int:
    """The largest of these numbers that is not above n."""
    step = 1 << max(0, n.bit_length() - 3)
    return n // step * step


class NextTokenScores(Protocol[State]):
    """A model as a search sees it. A state may change in place, so an old one must not be used again."""

    def start(self, src: "Tensor", max_length: int) -> State:
        """Read sources (B, S), each ending with eos and padded with pad, for at most `max_length` steps."""

    def step(self, state: State, tokens: "Tensor") -> "tuple[Tensor, State]":
        """Append one token (B, K) to each hypothesis. Returns the logits (B, K, V) of the token after it.

        The first call has bos, (B, 1), for one hypothesis of each sentence. The caller may change the logits.
        """

    def reorder(self, state: State, parents: "Tensor") -> State:
        """Make hypothesis k of sentence b a copy of hypothesis `parents[b, k]` of that sentence; (B, K')."""

    def select(self, state: State, sentences: "Tensor") -> State:
        """Keep only these sentences, (B',) row numbers in ascending order, some of them as several copies."""


class Rows:
    """The rows of a batch. Each row is one sentence.

    Rows that are done stay in the batch until it can shrink to the next size that `round_up` gives. Keys and values
    then move a few times, not at every step, and oneDNN compiles its kernels for a few sizes only.
    """

    def __init__(self, n: int) -> None:
        self.sentences = list(range(n))  # of each row
        self._is_done = [False] * n

    def newly_done(self, is_done: Sequence[bool]) -> list[tuple[int, int]]:
        """(row, sentence) of each row that is done for the first time.

        Args:
            is_done: whether each row is done. Rows that were done before may have any value.
        """
        found = [row for row, done in enumerate(is_done) if done and not self._is_done[row]]
        for row in found:
            self._is_done[row] = True
        return [(row, self.sentences[row]) for row in found]

    @property
    def all_done(self) -> bool:
        return all(self._is_done)

    def drop_done(self) -> list[int] | None:
        """Returns the rows that stay, ascending: open ones, and a few others to fill the batch. None: all stay."""
        open_rows = [row for row, done in enumerate(self._is_done) if not done]
        n_spare = round_up(len(open_rows)) - len(open_rows)
        if len(open_rows) + n_spare >= len(self._is_done):
            return None
        spare = [row for row, done in enumerate(self._is_done) if done][:n_spare]
        rows = sorted(open_rows + spare)
        self.sentences = [self.sentences[row] for row in rows]
        self._is_done = [self._is_done[row] for row in rows]
        return rows


class SearchBatch(Rows):
    """The sentences of a search: the state of those that are still open, and what was found for the others.

    A search has tensors with one row for each sentence. After each step it stores the hypotheses of the sentences that
    are `newly_done`, and keeps of its tensors the rows that `shrink` names.
    """

    def __init__(
        self, model: "NextTokenScores[Any]", src: "Tensor", constraints: "Constraints", n_copies: int = 1
    ) -> None:
        """Search for sources (B', S), each as `n_copies` sentences; B = B' * `n_copies`."""
        n = len(src) * n_copies
        super().__init__(n)
        self._model = model
        self._constraints = constraints
        self._state = model.start(src, constraints.longest)
        self.first_tokens = src.new_full((n, 1), BOS)  # (B, 1): a search begins with one hypothesis a sentence
        if n_copies > 1:
            self._state = model.select(self._state, self.first_tokens.new_tensor(range(n)) // n_copies)
        self.found: list[list[Hypothesis]] = [[] for _ in range(n)]  # in the order of the sources

    def step(self, tokens: "Tensor") -> "Tensor":
        """Append one token (B, K) to each hypothesis; logits (B, K, V) of the token after it."""
        logits, self._state = self._model.step(self._state, tokens)
        return logits

    def reorder(self, parents: "Tensor") -> None:
        """Make hypothesis k of sentence b a copy of hypothesis `parents[b, k]` of that sentence."""
        self._state = self._model.reorder(self._state, parents)

    def shrink(self) -> "Tensor | None":
        """If enough sentences are done, drop them. Returns the rows that stay, in their order; None if all stay.

        At least one sentence must be open.
        """
        staying = self.drop_done()
        if staying is None:
            return None
        kept = self.first_tokens.new_tensor(staying)
        self._state = self._model.select(self._state, kept)
        self._constraints.select(kept)
        return kept
