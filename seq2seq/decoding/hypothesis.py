"""What a search returns for one sentence: token ids and how good they are."""

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
        finished: ended by eos; False when it was cut at the length limit.
    """

    tokens: list[int]
    log_prob: float
    score: float
    finished: bool


def of_tokens(tokens: Sequence[int], log_prob: float, config: DecodingConfig) -> Hypothesis:
    """The hypothesis with these tokens, up to their eos if there is one."""
    finished = EOS in tokens
    ids = list(tokens[: tokens.index(EOS)] if finished else tokens)
    penalty = length_penalty(len(ids) + finished, config.normalization, config.alpha)
    return Hypothesis(ids, log_prob, log_prob / penalty, finished)
