"""What became of a line of text."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seq2seq.translation.text.health import Finding


class Attention(NamedTuple):
    """How much the choice of each target piece looked at each source piece."""

    src_pieces: list[str]
    tgt_pieces: list[str]
    weights: np.ndarray  # (target pieces, source pieces); what a row lacks to 1 went to the sentence's end and tag


@dataclass(frozen=True)
class TextHypothesis:
    """One translation of a line.

    Attributes:
        log_prob: in nats, the end of the sentence included; 0 for a blank line.
        score: log_prob over the length penalty; higher is better.
        tokens: pieces and their log-probabilities, `</s>` last where it ended by itself; only on request.
        attention: of each part of the line; only on request.
        alignment: pairs of source word and target word, counted from 0; only on request.
    """

    text: str
    log_prob: float
    score: float
    tokens: list[tuple[str, float]] | None = None
    attention: list[Attention] | None = None
    alignment: list[tuple[int, int]] | None = None


@dataclass(frozen=True)
class Translation:
    """What became of one line.

    Attributes:
        source: the line.
        text: the best hypothesis, always one line; empty for a blank source.
        hypotheses: up to `decoding.n_best` of them, best first; of a blank source one, which is empty.
        parts: what the line was split into; mostly itself alone. Hypothesis n of a line is made of the hypotheses n of
            its parts.
        findings: why a reader should have a look at this one; mostly none.
    """

    source: str
    text: str
    hypotheses: list[TextHypothesis]
    parts: list[str]
    findings: list[Finding] = field(default_factory=list)
