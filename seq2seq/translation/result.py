"""The result of translating a line of text, or of scoring one."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seq2seq.translation.text.health import Finding
from seq2seq.translation.text.rewriting import Change


class Attention(NamedTuple):
    """How much the model looked at each source piece when it chose each target piece."""

    src_pieces: list[str]
    tgt_pieces: list[str]
    weights: np.ndarray  # (target pieces, source pieces); what a row lacks to 1 went to eos and the tag


@dataclass(frozen=True)
class TextHypothesis:
    """One translation of a line.

    Attributes:
        log_prob: in nats, the ends of its sentences included; 0 for a blank line.
        score: log_prob divided by the length penalty; higher is better. Of a line that was split, the mean of the
            scores of its parts, each weighted by the tokens of its source.
        tokens: pieces and their log-probabilities, on request. `</s>` is the last one, unless the hypothesis was cut.
        attention: one for each part of the line, on request.
        alignment: pairs of source word and target word, counted from 0, on request.
    """

    text: str
    log_prob: float
    score: float
    tokens: list[tuple[str, float]] | None = None
    attention: list[Attention] | None = None
    alignment: list[tuple[int, int]] | None = None


@dataclass(frozen=True)
class Translation:
    """The translations of one line.

    Attributes:
        source: the line.
        text: the best hypothesis, always one line; empty for a blank source.
        hypotheses: up to `decoding.n_best` of them, best first. A blank source has one, which is empty.
        parts: the parts that the line was split into; one if it was not split, none if it is blank. Each hypothesis of
            the line joins one hypothesis of each part.
        kept: what was taken out of the line and put back into each hypothesis, in the order of the line; the parts do
            not have it.
        findings: reasons why a reader should look at this translation; mostly none.
        changes: what was changed in the line before it was translated, as training had it.
        translated_as: the line as the model read it, if anything was changed; else empty.
    """

    source: str
    text: str
    hypotheses: list[TextHypothesis]
    parts: list[str]
    findings: list[Finding] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    translated_as: str = ""


@dataclass(frozen=True)
class Scored:
    """How probable the model finds a given translation of a line.

    Attributes:
        text: the given translation.
        log_prob, score: as in `TextHypothesis`; both -inf if there is a `reason`.
        tokens: pieces with their log-probabilities; `</s>` is the last one.
        reason: why the translation has no score, or no probability; mostly empty.
        changes: what was changed in the source, see `Translation`.
    """

    source: str
    text: str
    log_prob: float
    score: float
    tokens: list[tuple[str, float]]
    reason: str = ""
    changes: list[Change] = field(default_factory=list)
