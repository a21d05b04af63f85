"""Translate a stream of lines with an engine: split, encode, sort into batches, search, decode, join.

Lines are translated in windows, so that memory does not grow with the stream. While workers search the batches of some
windows, the next window is read and tokenized, and the one before is returned.
"""

import dataclasses
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, repeat
from typing import NamedTuple

import numpy as np

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.length import length_penalty
from seq2seq.decoding.plan import plan_batches
from seq2seq.errors import TranslationError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.protocol import Engine, Sentence
from seq2seq.translation.engines.workers import Workers, result_of
from seq2seq.translation.options import TranslationOptions
from seq2seq.translation.result import Attention, TextHypothesis, Translation
from seq2seq.translation.text.alignment import word_alignment
from seq2seq.translation.text.health import Finding, findings
from seq2seq.translation.text.splitting import Part, rejoin, split_line
from seq2seq.translation.text.typography import TYPOGRAPHIES
from seq2seq.vocabulary import EOS

# How many lines are read and sorted into batches together. The first windows are smaller, so that the first line comes
# early. Beyond the last size, batches hardly get any fuller, and an interruption loses more.
WINDOWS = (256, 512, 1024, 2048)
_AHEAD = 2  # windows that are searched while one is returned

# Each of these ends a line for some program. SentencePiece's byte pieces can spell all of them.
_LINE_ENDS = str.maketrans(dict.fromkeys("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))
_WORD = re.compile(r"\S+")


def encode_lines(tokenizer: Tokenizer, lines: Sequence[str]) -> list[list[int]]:
    """Token ids of each line. A blank line has none, even if the tokenizer would make tokens of spaces."""
    return tokenizer.encode(["" if line.isspace() else line for line in lines])


class _Found(NamedTuple):
    """What the search found for one sentence."""

    hypotheses: list[Hypothesis]
    log_probs: list[list[float]] | None  # for each hypothesis, of its tokens and of eos
    attention: list[np.ndarray] | None  # for each hypothesis (T, S)


class _Window(NamedTuple):
    """Lines whose sentences are being searched."""

    lines: list[str]
    parts: list[list[Part]]  # for each line; a blank one has none
    sentences: list[Sentence]  # of all parts of all lines, in order
    searches: list[tuple[list[int], "Future[list[_Found]]"]]  # indices of sentences, and what will be found


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Translates lines with one engine and one set of options; see `Translator.translate_windows`.

    Attributes:
        max_source_tokens: longer sources are split.
        tag_ids: one id that each source begins with, or none.
        tgt_lang: decides what goes between the translations of two parts.
        on_batch: called after each batch with the number of lines that begin in it.
    """

    engine: Engine
    tokenizer: Tokenizer
    max_source_tokens: int
    tag_ids: list[int]
    tgt_lang: str
    decoding: DecodingConfig
    options: TranslationOptions
    on_batch: Callable[[int], None]

    def run(
        self, lines: Iterator[tuple[str, str]], first_number: int, windows: Sequence[int]
    ) -> Generator[list[Translation], None, None]:
        """Translate `lines`, each with its prefix. `windows` are the sizes of the windows; the last size repeats."""
        sizes = chain(windows, repeat(windows[-1]))
        ahead = _AHEAD if windows[-1] > 1 else 0  # in a dialogue, the next line comes after the answer to this one
        pending: deque[_Window] = deque()
        workers = Workers(self.engine)
        try:
            while window_lines := list(islice(lines, next(sizes))):
                pending.append(self._submit(window_lines, first_number, workers))
                first_number += len(window_lines)
                if len(pending) > ahead:
                    yield self._results(pending.popleft())
            while pending:
                yield self._results(pending.popleft())
        finally:
            workers.close()

    def _submit(self, lines: Sequence[tuple[str, str]], first_number: int, workers: Workers) -> _Window:
        texts = [text for text, _ in lines]
        encoded = encode_lines(self.tokenizer, texts)
        parts: list[list[Part]] = []
        sentences: list[Sentence] = []
        line_beginnings = set()  # indices of the sentences that begin a line
        for number, ((text, prefix), ids) in enumerate(zip(lines, encoded, strict=True), start=first_number):
            parts.append(self._split(text, ids))
            if len(parts[-1]) > 1:
                sources = self.tokenizer.encode([part.text for part in parts[-1]])
                # A part may hold nothing but characters that the tokenizer leaves out.
                parts[-1] = [part for part, source in zip(parts[-1], sources, strict=True) if source]
                sources = [source for source in sources if source]
            else:
                sources = [ids] * len(parts[-1])
            line_beginnings.add(len(sentences))
            # The prefix is for the first part only. All sentences of a line share its random numbers.
            prefixes = [self._prefix(prefix, number), *[()] * len(sources)]
            sentences += [
                Sentence(self.tag_ids + source, prefix, number)
                for source, prefix in zip(sources, prefixes, strict=False)
            ]
        lengths = [max(len(sentence.source), len(sentence.prefix)) for sentence in sentences]
        searches = []
        for indices in plan_batches(lengths, self.decoding):
            batch = [sentences[i] for i in indices]
            search = workers.submit(_search, batch, self.decoding, self.options.token_scores, self.options.alignment)
            search.add_done_callback(partial(self._count, len(line_beginnings.intersection(indices))))
            searches.append((indices, search))
        return _Window(texts, parts, sentences, searches)

    def _split(self, text: str, ids: list[int]) -> list[Part]:
        if not ids:
            return []
        if len(ids) <= self.max_source_tokens:
            return [Part(text, 0)]
        return split_line(text, self.max_source_tokens, self._count_tokens)

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self.tokenizer.encode(texts)]

    def _prefix(self, text: str, number: int) -> Sequence[int]:
        if not text:
            return ()
        (ids,) = encode_lines(self.tokenizer, [text])
        if len(ids) >= self.engine.max_length:
            raise TranslationError(
                f"the prefix of line {number + 1} has {len(ids)} tokens, and the model writes at most "
                f"{self.engine.max_length}; shorten it"
            )
        return ids

    def _count(self, n_lines: int, search: "Future[list[_Found]]") -> None:
        if not search.cancelled():
            self.on_batch(n_lines)

    def _results(self, window: _Window) -> list[Translation]:
        found: dict[int, _Found] = {}
        for indices, search in window.searches:
            batch_found = result_of(search)
            found.update(zip(indices, batch_found, strict=True))
        pairs = ((sentence, found[index]) for index, sentence in enumerate(window.sentences))
        return [
            self._translation(line, parts, list(islice(pairs, len(parts))))
            for line, parts in zip(window.lines, window.parts, strict=True)
        ]

    def _translation(self, line: str, parts: list[Part], pairs: list[tuple[Sentence, _Found]]) -> Translation:
        if not parts:
            return Translation(line, "", [TextHypothesis("", 0.0, 0.0)], [])
        n_best = min(len(found.hypotheses) for _, found in pairs)
        hypotheses = [self._joined(line, parts, pairs, rank) for rank in range(n_best)]
        n_src_tokens = sum(len(sentence.source) - len(self.tag_ids) for sentence, _ in pairs)
        n_tgt_tokens = sum(len(found.hypotheses[0].tokens) for _, found in pairs)
        suspicions = findings(line, hypotheses[0].text, n_src_tokens, n_tgt_tokens)
        if len(parts) > 1:
            suspicions.append(
                Finding(
                    "split",
                    f"{n_src_tokens} tokens are more than the {self.max_source_tokens} that the model takes, so "
                    f"the line was translated in {len(parts)} parts",
                )
            )
        if not all(found.hypotheses[0].finished for _, found in pairs):
            suspicions.append(Finding("cut", f"the translation was cut off after {n_tgt_tokens} tokens"))
        return Translation(line, hypotheses[0].text, hypotheses, [part.text for part in parts], suspicions)

    def _joined(self, line: str, parts: list[Part], pairs: list[tuple[Sentence, _Found]], rank: int) -> TextHypothesis:
        """Join hypothesis `rank` of all parts to one hypothesis of the line."""
        hypotheses = [found.hypotheses[rank] for _, found in pairs]
        texts = self.tokenizer.decode([hypothesis.tokens for hypothesis in hypotheses])
        texts = [text.translate(_LINE_ENDS) for text in texts]
        log_prob = sum(hypothesis.log_prob for hypothesis in hypotheses)
        n_tokens = sum(len(hypothesis.tokens) + hypothesis.finished for hypothesis in hypotheses)
        penalty = length_penalty(n_tokens, self.decoding.normalization, self.decoding.alpha)
        tokens = self._token_scores(pairs, rank) if self.options.token_scores else None
        text = rejoin(texts, self.tgt_lang)
        if self.options.typography:
            text = TYPOGRAPHIES[self.options.typography](text)
        joined = TextHypothesis(text, log_prob, log_prob / penalty, tokens)
        return self._aligned(joined, line, parts, pairs, rank, texts) if self.options.alignment else joined

    def _token_scores(self, pairs: list[tuple[Sentence, _Found]], rank: int) -> list[tuple[str, float]]:
        tokens: list[tuple[str, float]] = []
        for _, found in pairs:
            assert found.log_probs is not None
            hypothesis = found.hypotheses[rank]
            ids = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            log_probs = found.log_probs[rank][: len(ids)]
            if len(hypothesis.tokens) == self.engine.max_length:  # `_search` left its last token out of scoring
                log_probs[-1] = hypothesis.log_prob - sum(log_probs[:-1])
            tokens += zip(self.tokenizer.pieces(ids), log_probs, strict=True)
        return tokens

    def _aligned(
        self,
        joined: TextHypothesis,
        line: str,
        parts: list[Part],
        pairs: list[tuple[Sentence, _Found]],
        rank: int,
        texts: list[str],
    ) -> TextHypothesis:
        """`joined` with the attention of each part, and with the word alignment of the whole line."""
        n_tags = len(self.tag_ids)
        attention = []
        alignment: list[tuple[int, int]] = []
        word_starts = [match.start() for match in _WORD.finditer(line)]
        n_words = 0  # of the translation so far
        for part, (sentence, found), translated in zip(parts, pairs, texts, strict=True):
            assert found.attention is not None
            weights = found.attention[rank][:, n_tags:]
            src_pieces = self.tokenizer.pieces(sentence.source[n_tags:])
            tgt_pieces = self.tokenizer.pieces(found.hypotheses[rank].tokens[: len(weights)])
            attention.append(Attention(src_pieces, tgt_pieces, weights))
            first_word = bisect_right(word_starts, part.start) - 1  # a part may begin inside a word
            word_pairs = word_alignment(weights, src_pieces, tgt_pieces)
            alignment += [(first_word + src, n_words + tgt) for src, tgt in word_pairs]
            n_words += len(translated.split())
        return dataclasses.replace(joined, attention=attention, alignment=alignment)


def _search(
    engine: Engine, sentences: list[Sentence], decoding: DecodingConfig, token_scores: bool, alignment: bool
) -> list[_Found]:
    """Search one batch; a worker calls this."""
    found = engine.decode(sentences, decoding)
    sources = [sentence.source for sentence, hypotheses in zip(sentences, found, strict=True) for _ in hypotheses]
    # A hypothesis of `max_length` tokens has no place for the eos that scoring appends: its last token is left out, and
    # `_token_scores` gives it the rest of the log-probability.
    targets = [hypothesis.tokens[: engine.max_length - 1] for hypotheses in found for hypothesis in hypotheses]
    log_probs = iter(engine.score(sources, targets) if token_scores else ())
    attention = iter(engine.attention(sources, targets) if alignment else ())
    return [
        _Found(
            hypotheses,
            list(islice(log_probs, len(hypotheses))) if token_scores else None,
            list(islice(attention, len(hypotheses))) if alignment else None,
        )
        for hypotheses in found
    ]
