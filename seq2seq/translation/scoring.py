"""How probable a model finds given translations."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import NamedTuple

from seq2seq.config import DecodingConfig
from seq2seq.decoding.length import length_penalty
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.in_order import InOrder, Line
from seq2seq.translation.line_parts import LineSplitter, part_of
from seq2seq.translation.normalising import Normaliser
from seq2seq.translation.pool import Pool
from seq2seq.translation.result import Scored
from seq2seq.translation.text.rewriting import Change
from seq2seq.translation.text.sentence_pairs import pair_sentences
from seq2seq.translation.text.splitting import Part, sentences
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

    A line of several sentences is scored sentence by sentence, as it would be translated, and its source is read with
    the marks, spaces and letter forms of training.

    Attributes:
        decoding: only its normalisation and its size of batches are used.
        tag_ids: one id that each source begins with, or none.
    """

    engine: Engine
    workers: Workers
    splitter: LineSplitter
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
            items, reason = self._items(rewritten.text, tgt, number)
            lengths = [max(len(pair.source), len(pair.target)) for pair in items]
            yield Line(_Given(src, tgt, changes, reason), items, lengths, len(src) + len(tgt), block)

    def _items(self, src: str, tgt: str, number: int) -> tuple[list[_Pair], str]:
        """What is to be scored, and the reason why nothing is."""
        if not src.strip() or not tgt.strip():
            return [], "" if src.strip() == tgt.strip() else "one side is blank"
        groups = self._groups(src, tgt)
        sources = self.splitter.encode([source for source, _ in groups])
        targets = self.splitter.encode([target for _, target in groups])
        items = [
            _Pair(self.tag_ids + src_ids, tgt_ids, number) for src_ids, tgt_ids in zip(sources, targets, strict=True)
        ]
        if not all(sources) or not all(targets):
            return [], "it has only characters that the model does not read"
        longest = max(max(len(pair.source), len(pair.target)) for pair in items)
        if longest >= self.engine.max_length:
            return [], f"a sentence has {longest} tokens, and the model scores at most {self.engine.max_length - 1}"
        return items, ""

    def _groups(self, src: str, tgt: str) -> list[tuple[str, str]]:
        """The line in the parts that it would be translated in, each with its translation. No sentence is cut."""
        parts, _ = self.splitter.split(src)
        sources, targets = sentences(src), sentences(tgt)
        beads = pair_sentences([each.text for each in sources], [each.text for each in targets])
        of_parts = groupby(beads, key=lambda bead: part_of(sources[bead.source.start], parts))
        groups = []
        for _, (first, *others) in of_parts:
            last = others[-1] if others else first
            src_part = _text(src, sources[first.source.start : last.source.stop])
            groups.append((src_part, _text(tgt, targets[first.target.start : last.target.stop])))
        return groups

    def _scored(self, line: _Line) -> Scored:
        given = line.payload
        if not line.items:
            log_prob = -inf if given.reason else 0.0
            return Scored(given.source, given.text, log_prob, log_prob, [], given.reason, given.changes)
        weights = [len(pair.source) - len(self.tag_ids) for pair in line.items]
        tokens: list[tuple[str, float]] = []
        total = score = 0.0
        for index, (pair, weight) in enumerate(zip(line.items, weights, strict=True)):
            log_probs = line.results[index]
            penalty = length_penalty(len(log_probs), self.decoding.normalization, self.decoding.alpha)
            total += sum(log_probs)
            score += sum(log_probs) / penalty * (weight / sum(weights))
            tokens += zip(self.splitter.tokenizer.pieces([*pair.target, EOS]), log_probs, strict=True)
        reason = "the model cannot write one of its characters" if total == -inf else ""
        return Scored(given.source, given.text, total, score, tokens, reason, given.changes)


def _text(line: str, parts: Sequence[Part]) -> str:
    return line[parts[0].start : parts[-1].start + len(parts[-1].text)]


def score(engine: Engine, pairs: list[_Pair]) -> list[list[float]]:
    """The log-probabilities of the target tokens and of eos of each pair; a worker calls this."""
    return engine.score([pair.source for pair in pairs], [pair.target for pair in pairs])
