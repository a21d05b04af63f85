"""What is searched for a line, and what becomes of it: split, encode, decode, join. `flow.py` has what is between."""

import dataclasses
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple

from seq2seq.characters import split_words
from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.errors import TranslationError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.aligning import Rendered, need_attention, pairs_of_line, restore, word_pairs
from seq2seq.translation.blocks import Given
from seq2seq.translation.engines.protocol import Engine, Sentence
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.flow import Prepared
from seq2seq.translation.line_parts import Combination, LineSplitter, best_combinations, n_cut_sentences
from seq2seq.translation.normalising import Normaliser, Reading
from seq2seq.translation.options import TranslationOptions
from seq2seq.translation.result import Attention, TextHypothesis, Translation
from seq2seq.translation.searching import Found, search
from seq2seq.translation.text.casing import Style, given_back
from seq2seq.translation.text.glossary import Demands
from seq2seq.translation.text.health import Finding, findings, unknown, unread
from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.putting_back import Restored
from seq2seq.translation.text.splitting import LINE_ENDS, Part, rejoin
from seq2seq.translation.text.taking_out import without
from seq2seq.translation.text.typography import TYPOGRAPHIES
from seq2seq.vocabulary import EOS


class _Source(NamedTuple):
    """A line as it was read."""

    reading: Reading
    parts: list[Part]  # of what is translated
    terms: list[list[str]]  # what the glossary wants in the translation of each part

    def style(self, index: int) -> Style | None:
        """The style of a headline that the translation of a part is given back."""
        part, styled = self.parts[index], self.reading.styled
        first = bisect_right(styled, part.start, key=lambda each: each.end)
        is_inside = first < len(styled) and styled[first].start < part.start + len(part.text)
        return styled[first].style if is_inside else None

    def original_of(self, index: int) -> str:
        """A part as the line has it, before it was put in sentence case."""
        part = self.parts[index]
        return self.reading.original[part.start : part.start + len(part.text)]


class _Joined(NamedTuple):
    hypothesis: TextHypothesis
    plain: str  # its text without typography and without what was put back


_Line = Prepared[_Source, Sentence]


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A `Course` for lines that are translated with one engine and one set of options.

    Attributes:
        normaliser: says how a line is read.
        has_attention: whether the engine says where the things go that are taken out of lines.
        longest_seen: tokens of the longest sources in training; None if that is not known.
        tag_ids: one id that each source begins with, or none.
        demands: what translations must contain.
        tgt_lang: decides what goes between the translations of two parts.
    """

    engine: Engine
    workers: Workers
    tokenizer: Tokenizer
    normaliser: Normaliser
    has_attention: bool
    splitter: LineSplitter
    longest_seen: int | None
    tag_ids: list[int]
    demands: Demands
    tgt_lang: str
    decoding: DecodingConfig
    options: TranslationOptions

    @property
    def batched_by(self) -> DecodingConfig:
        """See `Course`."""
        return self.options.searched_with(self.decoding)

    @property
    def splits_last(self) -> bool:
        """See `Course`."""
        return self.engine.splits_last

    def submit(self, sentences: list[Sentence]) -> Future[list[Found]]:
        """See `Course`."""
        options = dataclasses.replace(self.options, terms=())  # each batch is sent with them
        return self.workers.submit(search, sentences, self.batched_by, options, self.tokenizer)

    def prepare(self, given: Given) -> _Line:
        """See `Course`."""
        text, prefix, number = given
        reading = self._reading(text, prefix)
        # A part has one style, so that its translation can be given that.
        splitter = dataclasses.replace(self.splitter, max_sentences=1) if reading.is_mixed else self.splitter
        parts, sources = splitter.split(reading.source.text, reading.ends)
        own_prefix = without(prefix, reading.items, self.normaliser.things)
        prefixes = [self._prefix(own_prefix, number), *[[]] * (len(parts) - 1)] if parts else []
        # In the letters of the line, since a term with capitals is found by its capitals.
        terms = self.demands.terms_of(reading.original, parts)
        phrases = [self.demands.encoded(wanted) for wanted in terms]
        are_aligned = need_attention(reading.items, parts) if self.has_attention else [False] * len(parts)
        # All sentences of a line share its random numbers.
        sentences = [
            Sentence(self.tag_ids + source, prefix, number, required, is_aligned)
            for source, prefix, required, is_aligned in zip(sources, prefixes, phrases, are_aligned, strict=True)
        ]
        lengths = [max(len(sentence.source), len(sentence.prefix)) for sentence in sentences]
        return Prepared(_Source(reading, parts, terms), sentences, lengths)

    def _reading(self, line: str, prefix: str) -> Reading:
        # A translation begins with its prefix letter by letter, so no headline is made of it.
        reading = self.normaliser.read(line, keeps_case=bool(prefix.strip()))
        if reading.is_mixed and self.splitter.max_sentences is None:
            return self.normaliser.read(line, keeps_case=True)
        return reading

    def _prefix(self, prefix: str, number: int) -> list[int]:
        """The tokens that the translation of the first part of a line begins with."""
        (ids,) = self.splitter.encode([prefix])
        if len(ids) >= self.engine.max_length:
            raise TranslationError(
                f"the prefix of line {number + 1} has {len(ids)} tokens, and the model writes at most "
                f"{self.engine.max_length}; shorten it"
            )
        return ids

    def finish(self, prepared: _Line, results: Sequence[Found]) -> Translation:
        """See `Course`."""
        line, found = prepared, list(results)
        source = line.payload
        if not source.parts:
            return self._untranslated(source.reading)
        n_src_tokens = [len(sentence.source) - len(self.tag_ids) for sentence in line.items]
        n = self.options.searched_with(self.decoding).n_best
        combinations = best_combinations([each.hypotheses for each in found], n_src_tokens, n)
        best = self._joined(line, found, combinations[0])
        distinct = {best.hypothesis.text: best.hypothesis}
        for combination in combinations[1:]:
            if len(distinct) == self.decoding.n_best:
                break
            hypothesis = self._joined(line, found, combination).hypothesis
            distinct.setdefault(hypothesis.text, hypothesis)
        hypotheses = list(distinct.values())
        suspicions = self._findings(line, found, combinations[0], best.plain, n_src_tokens)
        reading, parts = source.reading, [part.text for part in source.parts]
        kept = [item.text for item in reading.items]
        read = reading.source.text if reading.changes else ""
        return Translation(reading.line, hypotheses[0].text, hypotheses, parts, suspicions, kept, reading.changes, read)

    def _untranslated(self, reading: Reading) -> Translation:
        """A line without anything to translate. If it has things that are kept, it comes out as it was."""
        line, changes = reading.line, reading.changes
        if not reading.items:
            return Translation(line, "", [TextHypothesis("", 0.0, 0.0)], [], unread(line))
        text = line.translate(LINE_ENDS)
        pairs = [(word, word) for word in range(len(split_words(text)))] if self.options.alignment else None
        suspicions = []
        if reading.foreign:
            message = f"nothing of the line is translated, since training had no such letters ({reading.foreign[0]!r})"
            suspicions.append(Finding("untranslated", message))
        kept = [item.text for item in reading.items]
        return Translation(line, text, [TextHypothesis(text, 0.0, 0.0, alignment=pairs)], [], suspicions, kept, changes)

    def _findings(
        self, line: _Line, found: list[Found], best: Combination, text: str, n_src_tokens: list[int]
    ) -> list[Finding]:
        source = line.payload.reading.source.text
        n_tgt_tokens = [len(each.hypotheses[rank].tokens) for each, rank in zip(found, best.ranks, strict=True)]
        suspicions = findings(source, text, sum(n_src_tokens), sum(n_tgt_tokens))
        suspicions += self.demands.missing(source, text)
        suspicions += unknown(line.payload.reading.foreign)
        longest = max(n_src_tokens)
        if self.longest_seen is not None and longest > self.longest_seen:
            suspicions.append(
                Finding(
                    "long",
                    f"{longest} tokens are more than sources had in training (99.9% of them up to "
                    f"{self.longest_seen}), so the translation may leave something out",
                )
            )
        if n_cut := n_cut_sentences(line.payload.reading.ends, line.payload.parts):
            suspicions.append(
                Finding(
                    "split",
                    f"a sentence of more than {self.splitter.max_tokens} tokens was cut into parts ({n_cut} cuts), "
                    "each translated by itself",
                )
            )
        if best.n_cut:
            suspicions.append(Finding("cut", f"the translation was cut off after {sum(n_tgt_tokens)} tokens"))
        return suspicions

    def _joined(self, line: _Line, found: list[Found], combination: Combination) -> _Joined:
        """One hypothesis of each part as one hypothesis of the line."""
        source = line.payload
        read, items = source.reading.source, source.reading.items
        chosen = [each.hypotheses[rank] for each, rank in zip(found, combination.ranks, strict=True)]
        texts = self.tokenizer.decode([hypothesis.tokens for hypothesis in chosen])
        texts = [text.translate(LINE_ENDS) for text in texts]
        texts = [self._given_back(text, source, index) for index, text in enumerate(texts)]
        plain = rejoin(texts, source.parts, self.tgt_lang)
        text = Text.of(plain)
        if self.options.typography:
            text = text.respaced(TYPOGRAPHIES[self.options.typography](plain))
        weights = [
            None if each.attention is None else each.attention[rank][:, len(self.tag_ids) :]
            for each, rank in zip(found, combination.ranks, strict=True)
        ]
        parts = [
            Rendered(part, *span, hypothesis.tokens, each)
            for part, span, hypothesis, each in zip(source.parts, _spans(texts, plain), chosen, weights, strict=True)
        ]
        whole = Restored(text, [])
        if items:
            # As if only those had attention that need it, so that other options change no place.
            needed = [
                each if sentence.is_aligned else each._replace(weights=None)
                for each, sentence in zip(parts, line.items, strict=True)
            ]
            whole = restore(text, plain, read.text, items, needed, self.tokenizer)
        joined = TextHypothesis(
            whole.translation.text,
            sum(hypothesis.log_prob for hypothesis in chosen),
            combination.score,
            self._token_scores(chosen) if self.options.token_scores else None,
        )
        if self.options.alignment:
            pairs = word_pairs(read.text, plain, parts, self.tokenizer)
            alignment = pairs_of_line(pairs, source.reading.line, read, items, plain, whole)
            joined = dataclasses.replace(joined, attention=self._attention(line, parts), alignment=alignment)
        return _Joined(joined, plain)

    def _given_back(self, text: str, source: _Source, index: int) -> str:
        """The translation of a part with the looks of the line: its end mark, and a headline if the part was one."""
        style, text = source.style(index), source.reading.stopped(text, source.parts[index])
        return given_back(text, style, source.original_of(index), source.terms[index]) if style else text

    def _attention(self, line: _Line, parts: Sequence[Rendered]) -> list[Attention]:
        return [
            Attention(
                self.tokenizer.pieces(sentence.source[len(self.tag_ids) :]),
                self.tokenizer.pieces(each.ids[: len(each.weights)]),
                each.weights,
            )
            for sentence, each in zip(line.items, parts, strict=True)
            if each.weights is not None
        ]

    def _token_scores(self, hypotheses: Sequence[Hypothesis]) -> list[tuple[str, float]]:
        scores: list[tuple[str, float]] = []
        for hypothesis in hypotheses:
            assert hypothesis.token_log_probs is not None
            ids = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            scores += zip(self.tokenizer.pieces(ids), hypothesis.token_log_probs, strict=True)
        return scores


def _spans(texts: Iterable[str], joined: str) -> list[tuple[int, int]]:
    """Where each of `texts` is in what they were joined to."""
    spans, end = [], 0
    for text in texts:
        start = joined.index(text, end)
        end = start + len(text)
        spans.append((start, end))
    return spans
