"""What a search returns for one sentence: token ids and how good they are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One translation, as token ids.

    Attributes:
        tokens: without bos and eos.
        log_prob: sum over the tokens, eos included if there is one, in nats; at most 0.
        score: log_prob divided by the length penalty (`seq2seq/decoding/length.py`); higher is better.
        finished: ended by eos; False when it was cut at the length limit.
    """

    tokens: list[int]
    log_prob: float
    score: float
    finished: bool
