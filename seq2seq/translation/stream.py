"""What is searched for a line, and what becomes of it: split, encode, decode, join. And how a given pair is scored."""

import dataclasses
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

from seq2seq.characters import split_words
from seq2seq.config import DecodingConfig
from seq2seq.decoding import length_penalty
from seq2seq.errors import TranslationError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.aligning import Rendered, need_attention, pairs_of_line, restore, word_pairs
from seq2seq.translation.blocks import Given
from seq2seq.translation.engines import Sentence
from seq2seq.translation.flow import Found, Pair, Work
from seq2seq.translation.line_parts import Combination, best_combinations, drawn_combinations
from seq2seq.translation.normalising import Normaliser, Reading
from seq2seq.translation.options import TranslationOptions
from seq2seq.translation.result import Attention, Scored, TextHypothesis, Translation
from seq2seq.translation.text.casing import given_back
from seq2seq.translation.text.glossary import Demands
from seq2seq.translation.text.health import Finding, findings, unknown, unread
from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.putting_back import Place, Restored
from seq2seq.translation.text.splitting import LINE_ENDS, LineSplitter, Part, n_cut_sentences, rejoin
from seq2seq.translation.text.taking_out import without
from seq2seq.translation.text.typography import TYPOGRAPHIES
from seq2seq.vocabulary import EOS, UNK


class _Line(NamedTuple):
    """A line as it was read, with what is searched for it."""

    reading: Reading
    parts: list[Part]  # of what is translated
    terms: list[list[str]]  # what the glossary wants in the translation of each part
    sentences: list[Sentence]  # the parts as token ids
    has_prefix: bool  # whether its translation is to begin with something

    def given_back(self, text: str, index: int) -> str:
        """The translation of a part with the looks of the line: its end mark, and a headline if the part was one."""
        part, styled = self.parts[index], self.reading.styled
        text = self.reading.stopped(text, part)
        first = bisect_right(styled, part.start, key=lambda each: each.end)
        if first == len(styled) or styled[first].start >= part.end:
            return text
        return given_back(text, styled[first].style, self.reading.original[part.start : part.end], self.terms[index])


@dataclass(frozen=True, kw_only=True)
class Stream:
    """How lines are translated with one model and one set of options.

    Attributes:
        max_length: tokens that the model writes at most.
        normaliser: says how a line is read.
        has_attention: whether the engine says where the things go that are taken out of lines.
        longest_seen: tokens of the longest sources in training; None if that is not known.
        tag_ids: one id that each source begins with, or none.
        demands: what translations must contain.
        tgt_lang: decides what goes between the translations of two parts.
        n_best: how many translations of a line are wanted.
        n_searched: how many are searched for, since several may have one text.
        are_samples: whether they are drawn, and wanted as they are drawn.
    """

    max_length: int
    tokenizer: Tokenizer
    normaliser: Normaliser
    has_attention: bool
    splitter: LineSplitter
    longest_seen: int | None
    tag_ids: list[int]
    demands: Demands
    tgt_lang: str
    n_best: int
    n_searched: int
    are_samples: bool
    options: TranslationOptions

    def prepare(self, given: Given) -> Work[Sentence, Found, Translation]:
        """The sentences of a line, and how their translations become that of the line."""
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
        return Work(
            sentences,
            lengths,
            partial(self._finished, _Line(reading, parts, terms, sentences, bool(own_prefix.strip()))),
        )

    def _reading(self, line: str, prefix: str) -> Reading:
        # A translation begins with its prefix letter by letter, so no headline is made of it.
        reading = self.normaliser.read(line, keeps_case=bool(prefix.strip()))
        if reading.is_mixed and self.splitter.max_sentences is None:
            return self.normaliser.read(line, keeps_case=True)
        return reading

    def _prefix(self, prefix: str, number: int) -> list[int]:
        """The tokens that the translation of the first part of a line begins with."""
        if not prefix.strip():  # some tokenizers make tokens of spaces
            return []
        (ids,) = self.tokenizer.target.encode([prefix])
        if UNK in ids:
            raise TranslationError(
                f"the prefix of line {number + 1} has a character that the model cannot write; write it otherwise"
            )
        if len(ids) >= self.max_length:
            raise TranslationError(
                f"the prefix of line {number + 1} has {len(ids)} tokens, and the model writes at most "
                f"{self.max_length}; shorten it"
            )
        return ids

    def _finished(self, line: _Line, found: Sequence[Found]) -> Translation:
        reading = line.reading
        if not line.parts:
            return self._untranslated(reading, line.has_prefix)
        n_src_tokens = [len(sentence.source) - len(self.tag_ids) for sentence in line.sentences]
        hypotheses = [each.hypotheses for each in found]
        combinations = (
            drawn_combinations(hypotheses, n_src_tokens)
            if self.are_samples
            else best_combinations(hypotheses, n_src_tokens, self.n_searched)
        )
        best, plain = self._joined(line, found, combinations[0])
        distinct = {best.text: best}
        for combination in combinations[1:]:
            if len(distinct) == self.n_best:
                break
            hypothesis, _ = self._joined(line, found, combination)
            distinct.setdefault(hypothesis.text, hypothesis)
        return Translation(
            reading.line,
            best.text,
            list(distinct.values()),
            [part.text for part in line.parts],
            self._findings(line, found, combinations[0], plain, n_src_tokens),
            [item.text for item in reading.items],
            reading.changes,
            translated_as=reading.source.text if reading.changes else "",
            n_terms=sum(map(len, line.terms)),
        )

    def _untranslated(self, reading: Reading, has_prefix: bool) -> Translation:
        """A line without anything to translate. If it has things that are kept, it comes out as it was."""
        line, changes, suspicions = reading.line, reading.changes, list[Finding]()
        if has_prefix:
            suspicions.append(Finding("untranslated", "nothing of the line is translated, so its prefix is left out"))
        text = line.translate(LINE_ENDS) if reading.items else ""
        tokens = list[tuple[str, float]]() if self.options.token_scores else None
        pairs = [(word, word) for word in range(len(split_words(text)))] if self.options.alignment else None
        hypothesis = TextHypothesis(text, 0.0, 0.0, tokens, alignment=pairs)
        if not reading.items:
            return Translation(line, text, [hypothesis], [], unread(line) + suspicions)
        if reading.foreign:
            message = f"nothing of the line is translated, since training had no such letters ({reading.foreign[0]!r})"
            suspicions.append(Finding("untranslated", message))
        kept = [item.text for item in reading.items]
        return Translation(line, text, [hypothesis], [], suspicions, kept, changes)

    def _findings(
        self, line: _Line, found: Sequence[Found], best: Combination, text: str, n_src_tokens: list[int]
    ) -> list[Finding]:
        source = line.reading.source.text
        n_tgt_tokens = [len(each.hypotheses[rank].tokens) for each, rank in zip(found, best.ranks, strict=True)]
        suspicions = findings(source, text, sum(n_src_tokens), sum(n_tgt_tokens))
        suspicions += self.demands.missing(line.reading.original, text)  # in which terms were looked for
        suspicions += unknown(line.reading.foreign)
        longest = max(n_src_tokens)
        if self.longest_seen is not None and longest > self.longest_seen:
            suspicions.append(
                Finding(
                    "long",
                    f"{longest} tokens are more than sources had in training (99.9% of them up to "
                    f"{self.longest_seen}), so the translation may leave something out",
                )
            )
        if n_cut := n_cut_sentences(line.reading.ends, line.parts):
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

    def _joined(self, line: _Line, found: Sequence[Found], combination: Combination) -> tuple[TextHypothesis, str]:
        """One hypothesis of each part as one of the line; also without typography and without what is put back."""
        read, items = line.reading.source, line.reading.items
        chosen = [each.hypotheses[rank] for each, rank in zip(found, combination.ranks, strict=True)]
        texts = self.tokenizer.target.decode([hypothesis.tokens for hypothesis in chosen])
        texts = [text.translate(LINE_ENDS) for text in texts]
        texts = [line.given_back(text, index) for index, text in enumerate(texts)]
        plain = rejoin(texts, line.parts, self.tgt_lang)
        text = Text.of(plain)
        if self.options.typography:
            text = text.respaced(TYPOGRAPHIES[self.options.typography](plain))
        whole = Restored(text, [])
        parts: list[Rendered] = []
        if items or self.options.alignment:
            places = _places(line.parts, texts, plain)
            weights = [
                None if each.attention is None else each.attention[rank][:, len(self.tag_ids) :]
                for each, rank in zip(found, combination.ranks, strict=True)
            ]
            parts = [
                Rendered(part.text, place, hypothesis.tokens, each)
                for part, place, hypothesis, each in zip(line.parts, places, chosen, weights, strict=True)
            ]
        if items:
            # As if only those had attention that need it, so that other options change no place.
            needed = [
                each if sentence.is_aligned else each._replace(weights=None)
                for each, sentence in zip(parts, line.sentences, strict=True)
            ]
            whole = restore(text, plain, read.text, items, needed, self.tokenizer)
        joined = TextHypothesis(
            whole.translation.text,
            sum(hypothesis.log_prob for hypothesis in chosen),
            combination.score,
            self._token_scores(found, combination) if self.options.token_scores else None,
        )
        if self.options.alignment:
            pairs = word_pairs(read.text, plain, parts, self.tokenizer)
            alignment = pairs_of_line(pairs, line.reading.line, read, items, plain, whole)
            joined = dataclasses.replace(joined, attention=self._attention(line, parts), alignment=alignment)
        return joined, plain

    def _attention(self, line: _Line, parts: Sequence[Rendered]) -> list[Attention]:
        return [
            Attention(
                self.tokenizer.pieces(sentence.source[len(self.tag_ids) :]),
                self.tokenizer.target.pieces(each.ids[: len(each.weights)]),
                each.weights,
            )
            for sentence, each in zip(line.sentences, parts, strict=True)
            if each.weights is not None
        ]

    def _token_scores(self, found: Sequence[Found], combination: Combination) -> list[tuple[str, float]]:
        scores: list[tuple[str, float]] = []
        for (hypotheses, _, of_tokens), rank in zip(found, combination.ranks, strict=True):
            assert of_tokens is not None
            tokens, log_probs = hypotheses[rank].tokens[: len(of_tokens[rank]) - 1], of_tokens[rank]
            ids = [*tokens, EOS] if hypotheses[rank].finished else tokens
            scores += zip(self.tokenizer.target.pieces(ids), log_probs, strict=False)  # without eos, if it was cut
        return scores


def _places(parts: Sequence[Part], texts: Sequence[str], joined: str) -> Iterator[Place]:
    """Where parts are, and the `texts` that became of them, in what these were joined to."""
    end = 0
    for part, text in zip(parts, texts, strict=True):
        start = joined.index(text, end)
        end = start + len(text)
        yield Place(part.start, part.end, start, end)


# --- given translations ---


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """How pairs of lines are scored with one model; see `Translator.score`.

    A pair is scored in one piece. Its source is read with the marks, spaces and letter forms of training.

    Attributes:
        max_length: tokens that a side may have, with its eos.
        decoding: only its normalisation is used.
        tag_ids: one id that each source begins with, or none.
    """

    max_length: int
    tokenizer: Tokenizer
    normaliser: Normaliser
    decoding: DecodingConfig
    tag_ids: list[int]

    def prepare(self, given: Given) -> Work[Pair, list[float], Scored]:
        """The pair as token ids, if it can be scored, and what its log-probabilities become."""
        rewritten, changes = self.normaliser.rewritten(given.text)
        source, target, reason = self._pair(rewritten.text.strip(), given.beside.strip())
        if not source or not target:
            log_prob = -inf if reason else 0.0
            scored = Scored(given.text, given.beside, log_prob, log_prob, [], reason, changes)
            return Work([], [], lambda _: scored)

        def finish(results: list[list[float]]) -> Scored:
            (log_probs,) = results
            tokens = list(zip(self.tokenizer.target.pieces([*target, EOS]), log_probs, strict=True))
            total = sum(log_probs)
            score = total / length_penalty(len(log_probs), self.decoding.normalization, self.decoding.alpha)
            reason = "the model cannot write one of its characters" if total == -inf else ""
            return Scored(given.text, given.beside, total, score, tokens, reason, changes)

        return Work([Pair(source, target, given.number)], [max(len(source), len(target))], finish)

    def _pair(self, src: str, tgt: str) -> tuple[list[int], list[int], str]:
        """The token ids of both sides; without them, the reason why nothing is scored."""
        if not src or not tgt:
            return [], [], "" if src == tgt else "one side is blank"
        (source,), (target,) = self.tokenizer.encode([src]), self.tokenizer.target.encode([tgt])
        if not source or not target:
            return [], [], "it has only characters that the model does not read"
        source = self.tag_ids + source
        if (longest := max(len(source), len(target))) >= self.max_length:
            return [], [], f"it has {longest} tokens, and the model scores at most {self.max_length - 1}"
        return source, target, ""
