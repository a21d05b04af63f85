"""What a search returns: token ids, and how good they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from seq2seq.config import DecodingConfig
from seq2seq.decoding.length import length_penalty
from seq2seq.vocabulary import EOS, PAD


@dataclass(frozen=True)
class Hypothesis:
    """One translation, as token ids.

    Attributes:
        tokens: without bos and eos. There are none only if no token was possible at all.
        log_prob: sum over the tokens, eos included if there is one, in nats; at most 0.
        score: log_prob divided by the length penalty (`seq2seq/decoding/length.py`); higher is better.
        finished: True if it ended with eos. False if it was cut: at the length limit, or where the rules of the search
            left no token that could follow.
        token_log_probs: of each token, eos included if there is one; their sum is `log_prob`, up to rounding. None if
            the search was not asked for them.
        missing: how many of the required phrases it does not have; 0 if it is finished.
    """

    tokens: list[int]
    log_prob: float
    score: float
    finished: bool
    token_log_probs: list[float] | None = None
    missing: int = 0

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[int], log_prob: float, config: DecodingConfig, running: Sequence[float] = ()
    ) -> "Hypothesis":
        """The hypothesis with the tokens before the first eos or pad, or with all of them.

        Args:
            tokens: pad comes where no other token was possible.
            running: log-probability after 0, 1, 2, ... tokens; nothing if the scores of tokens were not asked for.
        """
        n = next((i for i, token in enumerate(tokens) if token in (EOS, PAD)), len(tokens))
        finished = n < len(tokens) and tokens[n] == EOS
        penalty = length_penalty(max(1, n + finished), config.normalization, config.alpha)
        scores = gains(running[: n + finished + 1]) if running else None
        return cls(list(tokens[:n]), log_prob, log_prob / penalty, finished, scores)


def gains(running: Sequence[float]) -> list[float]:
    """The log-probability of each token, from those of 0, 1, 2, ... tokens together. Rounding makes none positive."""
    return [min(after - before, 0.0) for before, after in pairwise(running)]
