"""How probable a model finds given translations."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from seq2seq.config import DecodingConfig
from seq2seq.decoding.length import length_penalty
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.in_order import InOrder, Line
from seq2seq.translation.normalising import Normaliser
from seq2seq.translation.pool import Pool
from seq2seq.translation.result import Scored
from seq2seq.translation.text.rewriting import Change
from seq2seq.vocabulary import EOS


class GivenPair(NamedTuple):
    """A source and its translation as text. For number and block see `blocks.Given`."""

    source: str
    target: str
    number: int = 0
    block: int = 0


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


_Line = Line[_Given, _Pair, list[float]]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """Scores pairs of lines with one engine; see `Translator.score`.

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
    on_done: Callable[[int], None]
    n_sharing: Callable[[], int] | None = None

    def run(self, pairs: Iterable[GivenPair]) -> Generator[Scored, None, None]:
        """Score each pair, in order, in memory that does not grow with their number."""
        in_order = InOrder[_Given, _Pair, list[float]](
            self.workers,
            lambda batch: self.workers.submit(score, batch),
            Pool(self.decoding.max_batch_tokens, n_hypotheses=1),
            None,
            self.on_done,
            self.n_sharing,
        )
        with closing(in_order.run(self._read(pairs))) as found:
            for line in found:
                yield self._scored(line)

    def _read(self, pairs: Iterable[GivenPair]) -> Iterator[_Line]:
        for src, tgt, number, block in pairs:
            rewritten, changes = self.normaliser.rewritten(src)
            pair, reason = self._pair(rewritten.text, tgt, number)
            items = [pair] if pair else []
            lengths = [max(len(pair.source), len(pair.target)) for pair in items]
            yield Line(_Given(src, tgt, changes, reason), items, lengths, len(src) + len(tgt), block)

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

    def _scored(self, line: _Line) -> Scored:
        given = line.payload
        if not line.items:
            log_prob = -inf if given.reason else 0.0
            return Scored(given.source, given.text, log_prob, log_prob, [], given.reason, given.changes)
        log_probs = line.results[0]
        tokens = list(zip(self.tokenizer.pieces([*line.items[0].target, EOS]), log_probs, strict=True))
        total = sum(log_probs)
        score = total / length_penalty(len(log_probs), self.decoding.normalization, self.decoding.alpha)
        reason = "the model cannot write one of its characters" if total == -inf else ""
        return Scored(given.source, given.text, total, score, tokens, reason, given.changes)


def score(engine: Engine, pairs: list[_Pair]) -> list[list[float]]:
    """The log-probabilities of the target tokens and of eos of each pair; a worker calls this."""
    return engine.score([pair.source for pair in pairs], [pair.target for pair in pairs])
