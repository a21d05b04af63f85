"""How probable a model finds given translations."""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import length_penalty
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.blocks import Given
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.flow import Prepared
from seq2seq.translation.normalising import Normaliser
from seq2seq.translation.result import Scored
from seq2seq.translation.text.rewriting import Change
from seq2seq.vocabulary import EOS


class _Pair(NamedTuple):
    """A source and its translation as token ids."""

    source: list[int]
    target: list[int]
    number: int  # of the line, from 0, which a message of the workers names


class _Given(NamedTuple):
    """A line as it was read."""

    source: str
    text: str
    changes: list[Change]  # of the source
    reason: str  # why it is not scored


_Line = Prepared[_Given, _Pair]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """A `Course` for pairs of lines that are scored with one engine; see `Translator.score`.

    A pair is scored in one piece. Its source is read with the marks, spaces and letter forms of training.

    Attributes:
        decoding: only its normalisation and its size of batches are used.
        tag_ids: one id that each source begins with, or none.
    """

    engine: Engine
    workers: Workers
    tokenizer: Tokenizer
    normaliser: Normaliser
    decoding: DecodingConfig
    tag_ids: list[int]

    @property
    def batched_by(self) -> DecodingConfig:
        """See `Course`."""
        return dataclasses.replace(self.decoding, beam_size=1, n_best=1, sampling=False)

    @property
    def splits_last(self) -> bool:
        """See `Course`."""
        return self.engine.splits_last

    def submit(self, items: list[_Pair]) -> Future[list[list[float]]]:
        """See `Course`."""
        return self.workers.submit(score, items)

    def prepare(self, given: Given) -> _Line:
        """See `Course`."""
        src, tgt, number = given
        rewritten, changes = self.normaliser.rewritten(src)
        pair, reason = self._pair(rewritten.text, tgt, number)
        items = [pair] if pair else []
        lengths = [max(len(pair.source), len(pair.target)) for pair in items]
        return Prepared(_Given(src, tgt, changes, reason), items, lengths)

    def _pair(self, src: str, tgt: str, number: int) -> tuple[_Pair | None, str]:
        """What is to be scored, and the reason why nothing is."""
        src, tgt = src.strip(), tgt.strip()
        if not src or not tgt:
            return None, "" if src == tgt else "one side is blank"
        source, target = self.tokenizer.encode([src, tgt])
        if not source or not target:
            return None, "it has only characters that the model does not read"
        pair = _Pair(self.tag_ids + source, target, number)
        if (longest := max(map(len, pair[:2]))) >= self.engine.max_length:
            return None, f"it has {longest} tokens, and the model scores at most {self.engine.max_length - 1}"
        return pair, ""

    def finish(self, prepared: _Line, results: Sequence[list[float]]) -> Scored:
        """See `Course`."""
        given = prepared.payload
        if not prepared.items:
            log_prob = -inf if given.reason else 0.0
            return Scored(given.source, given.text, log_prob, log_prob, [], given.reason, given.changes)
        (log_probs,) = results
        tokens = list(zip(self.tokenizer.pieces([*prepared.items[0].target, EOS]), log_probs, strict=True))
        total = sum(log_probs)
        score = total / length_penalty(len(log_probs), self.decoding.normalization, self.decoding.alpha)
        reason = "the model cannot write one of its characters" if total == -inf else ""
        return Scored(given.source, given.text, total, score, tokens, reason, given.changes)


def score(engine: Engine, pairs: list[_Pair]) -> list[list[float]]:
    """The log-probabilities of the target tokens and of eos of each pair; a worker calls this."""
    return engine.score([pair.source for pair in pairs], [pair.target for pair in pairs])
