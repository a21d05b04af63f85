"""What a search returns: token ids, and how good they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq.config import DecodingConfig
from seq2seq.decoding.length import length_penalty
from seq2seq.vocabulary import EOS


@dataclass(frozen=True)
class Hypothesis:
    """One translation, as token ids.

    Attributes:
        tokens: without bos and eos.
        log_prob: sum over the tokens, eos included if there is one, in nats; at most 0.
        score: log_prob divided by the length penalty (`seq2seq/decoding/length.py`); higher is better.
        finished: True if it ended with eos, False if it was cut at the length limit.
    """

    tokens: list[int]
    log_prob: float
    score: float
    finished: bool

    @classmethod
    def from_tokens(cls, tokens: Sequence[int], log_prob: float, config: DecodingConfig) -> "Hypothesis":
        """The hypothesis with the tokens before the first eos, or with all of them if there is no eos."""
        finished = EOS in tokens
        ids = list(tokens[: tokens.index(EOS)] if finished else tokens)
        penalty = length_penalty(len(ids) + finished, config.normalization, config.alpha)
        return cls(ids, log_prob, log_prob / penalty, finished)
