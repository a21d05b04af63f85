"""What a search returns: token ids, and how good they are; what divides their score, and how long they may and must be.

Integers and floats, so that every engine can use them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from seq2seq.config import DecodingConfig
from seq2seq.vocabulary import EOS, PAD


@dataclass(frozen=True)
class Hypothesis:
    """One translation, as token ids.

    Attributes:
        tokens: without bos and eos. There are none only if no token was possible at all.
        log_prob: sum over the tokens, eos included if there is one, in nats; at most 0.
        score: log_prob divided by the length penalty (`length_penalty`); higher is better.
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
