"""A trained model as a function from text to text.

    translator = seq2seq.load("runs/multi30k/2026-11-21_120000")
    translator.translate(["Un chat dort."])[0].text

A stream goes through in windows, so that memory does not grow with it. The sentences of a window are sorted into
batches of similar length; while some batches are searched, the next window is read and tokenized, and the one before
is given back.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2seq.config import DecodingConfig
from seq2seq.decoding.corpus import plan_batches
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.length import length_penalty
from seq2seq.engines.load import load_engine
from seq2seq.engines.protocol import Engine, Sentence
from seq2seq.engines.pytorch import PyTorchEngine
from seq2seq.errors import ConfigError, TranslationError
from seq2seq.text.alignment import word_alignment
from seq2seq.text.health import Finding, findings
from seq2seq.text.splitting import Part, rejoin, split
from seq2seq.text.typography import TYPOGRAPHIES
from seq2seq.tokenizer import Tokenizer
from seq2seq.trained_model import TrainedModel
from seq2seq.vocabulary import EOS

# Lines read, and sorted into batches, at a time. The first windows are smaller, for an early first line; beyond the
# last size, batches hardly get any fuller, and an interruption loses more.
WINDOWS = (256, 512, 1024, 2048)
_AHEAD = 2  # windows being searched while one is given back

# What some reader or other takes for the end of a line; SentencePiece's byte pieces can spell all of them.
_LINE_ENDS = str.maketrans(dict.fromkeys("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))


class Attention(NamedTuple):
    """How much the choice of each target piece looked at each source piece."""

    src_pieces: list[str]
    tgt_pieces: list[str]
    weights: np.ndarray  # (target pieces, source pieces); what a row lacks to 1 went to the end of the sentence


@dataclass(frozen=True)
class Alternative:
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
    hypotheses: list[Alternative]
    parts: list[str]
    findings: list[Finding] = field(default_factory=list)


class Translator:
    """Engine and tokenizer of one model, or of an ensemble."""

    def __init__(self, models: Sequence[TrainedModel], engine: Engine) -> None:
        """Use `load`."""
        self.models = models
        self.engine = engine
        self.config = models[0].config
        self.tokenizer: Tokenizer = models[0].tokenizer

    @classmethod
    def load(
        cls,
        path: str | Path | Sequence[str | Path],
        engine: str = "auto",
        device: str = "auto",
        precision: str = "auto",
        threads: int = 0,
        workers: int = 0,
    ) -> "Translator":
        """The translator that a run directory, a checkpoint file or a model directory holds; several are an ensemble.

        The other arguments and what it raises: see `seq2seq/engines/load.py` and `seq2seq/trained_model.py`.
        """
        paths = [path] if isinstance(path, str | Path) else list(path)
        models = [TrainedModel.read(each) for each in paths]
        return cls(models, load_engine(models, engine, device, precision, threads, workers))

    @property
    def fingerprint(self) -> list[str]:
        """What identifies the models."""
        return [model.fingerprint for model in self.models]

    @property
    def decoding(self) -> DecodingConfig:
        """The settings that the model was validated with, in batches that suit the engine."""
        return dataclasses.replace(self.config.decoding, batch_tokens=self.engine.batch_tokens)

    @property
    def max_source_tokens(self) -> int:
        """Longer sources are split: training saw none of them, or the model cannot read them."""
        return min(self.config.data.max_tokens, self.engine.max_length - 1)

    def translate(
        self, lines: Sequence[str], decoding: DecodingConfig | None = None, **settings: Any
    ) -> list[Translation]:
        """One translation for each line, in order.

        Args:
            decoding: None for `self.decoding`.
            settings: single values in place of those of `decoding`, such as beam_size=1; otherwise, what
                `translate_stream` takes.
        """
        names = {each.name for each in dataclasses.fields(DecodingConfig)}
        changes = {name: settings.pop(name) for name in list(settings) if name in names}
        decoding = dataclasses.replace(decoding or self.decoding, **changes)
        return list(self.translate_stream(lines, decoding, **settings))

    def translate_stream(
        self, lines: Iterable[str], decoding: DecodingConfig | None = None, **options: Any
    ) -> Iterator[Translation]:
        """One translation for each line, in order, in memory that does not grow with their number.

        It takes what `translate_windows` takes.
        """
        for window in self.translate_windows(lines, decoding, **options):
            yield from window

    def translate_windows(
        self,
        lines: Iterable[str],
        decoding: DecodingConfig | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        first_number: int = 0,
        token_scores: bool = False,
        alignment: bool = False,
        typography: str = "",
        windows: Sequence[int] = WINDOWS,
        on_batch: Callable[[int], None] | None = None,
    ) -> Generator[list[Translation], None, None]:
        """The translations of a stream, window by window: what is given back together was translated together.

        Blank lines stay blank and do not reach the model. A line of more than `max_source_tokens` tokens is split into
        sentences, or smaller where that is not enough, and its translations are joined.

        Args:
            prefixes: for each line, what its translations begin with; blank: anything. It should end with a word.
            first_number: of sampling: the place of the first line, since each line has its own random numbers.
            token_scores: give the log-probability of each token.
            alignment: give attention and word alignment.
            typography: `fr` restores French typography; empty leaves the text as the model wrote it.
            windows: lines read, and sorted into batches, before the first of them is given back: the first number for
                the first window and so on, the last one for all others; (1,) for a dialogue.
            on_batch: told how many lines a batch held the beginnings of, some time before they are given back; called
                from other threads.
        Raises:
            ConfigError: settings that cannot work, or that the engine does not have.
            TranslationError: not as many prefixes as lines, a prefix that is too long, or not enough memory.
            TokenizerError: a line that is not Unicode.
            TypeError: one string in place of many.
        """
        if isinstance(lines, str):
            raise TypeError("lines is one string; pass a list with a string for each line")
        decoding = decoding or self.decoding
        if problems := list(decoding.problems()):
            raise ConfigError("\n".join(problems))
        if alignment and not isinstance(self.engine, PyTorchEngine):
            raise ConfigError("CTranslate2 gives no attention to align words by; use --engine torch")
        if typography and typography not in TYPOGRAPHIES:
            raise ConfigError(f"typography={typography!r} is not one of {', '.join(TYPOGRAPHIES)}")
        job = _Job(self, decoding, token_scores, alignment, typography, on_batch or (lambda n_lines: None))
        return job.run(_with_prefixes(lines, prefixes), first_number, windows)

    def score(
        self, pairs: Iterable[tuple[str, str]], decoding: DecodingConfig | None = None, *, first_number: int = 0
    ) -> Iterator[Alternative]:
        """How probable the model finds each given translation, in order.

        Args:
            pairs: source and translation; where both are blank the log-probability is 0.
            first_number: of messages: the place of the first pair.
        Yields:
            The given text with its log-probability, its score and that of each token.
        Raises:
            TranslationError: a side of more tokens than the model reads, or only one of the two blank.
        """
        decoding = decoding or self.decoding
        iterator = enumerate(pairs, start=first_number + 1)
        with ThreadPoolExecutor(1, initializer=self.engine.start_worker) as pool:
            while window := list(islice(iterator, WINDOWS[0])):
                yield from pool.submit(self._score_window, window, decoding).result()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Of each text, without eos."""
        return [len(ids) for ids in self.tokenizer.encode(texts)]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Token ids of each line; none for a blank one, whatever the tokenizer makes of spaces."""
        return self.tokenizer.encode(["" if line.isspace() else line for line in lines])

    def _score_window(
        self, window: Sequence[tuple[int, tuple[str, str]]], decoding: DecodingConfig
    ) -> list[Alternative]:
        sources = self.encode([src for _, (src, _) in window])
        targets = self.encode([tgt for _, (_, tgt) in window])
        for (number, _), source, target in zip(window, sources, targets, strict=True):
            longest = max(len(source), len(target))
            if longest >= self.engine.max_length:
                raise TranslationError(
                    f"line {number} has {longest} tokens, and the model scores at most {self.engine.max_length - 1}; "
                    "split it"
                )
            if bool(source) != bool(target):
                raise TranslationError(f"line {number}: one of source and translation is blank, and the other is not")
        log_probs: list[list[float]] = [[] for _ in window]
        lengths = [max(len(s), len(t)) for s, t in zip(sources, targets, strict=True)]
        for indices in plan_batches(lengths, dataclasses.replace(decoding, sampling=False)):
            found = self.engine.score([sources[i] for i in indices], [targets[i] for i in indices])
            for index, of_pair in zip(indices, found, strict=True):
                log_probs[index] = of_pair
        scored = []
        for (_, (_, text)), target, of_pair in zip(window, targets, log_probs, strict=True):
            total = sum(of_pair)
            penalty = length_penalty(max(1, len(of_pair)), decoding.normalization, decoding.alpha)
            tokens = list(zip(self.tokenizer.pieces([*target, EOS]), of_pair, strict=False))
            scored.append(Alternative(text, total, total / penalty, tokens))
        return scored


class _Found(NamedTuple):
    """What the search found for one sentence."""

    hypotheses: list[Hypothesis]
    log_probs: list[list[float]] | None  # of the tokens of each hypothesis, and of its eos
    attention: list[np.ndarray] | None  # of each hypothesis, (T, S)


class _Window(NamedTuple):
    """Lines whose sentences are being searched."""

    lines: list[str]
    parts: list[list[Part]]  # of each line; a blank one has none
    sentences: list[Sentence]  # of all parts of all lines, in order
    searches: list[tuple[list[int], "Future[list[_Found]]"]]  # which sentences, and what will be found


@dataclass(frozen=True)
class _Job:
    """One stream being translated."""

    translator: Translator
    decoding: DecodingConfig
    token_scores: bool
    alignment: bool
    typography: str
    on_batch: Callable[[int], None]

    def run(
        self, lines: Iterator[tuple[str, str]], first_number: int, windows: Sequence[int]
    ) -> Generator[list[Translation], None, None]:
        """lines: with their prefixes."""
        engine = self.translator.engine
        sizes = chain(windows, repeat(windows[-1]))
        ahead = _AHEAD if windows[-1] > 1 else 0  # in a dialogue, the next line waits for the answer to this one
        pending: deque[_Window] = deque()
        # Attention is recorded inside the model, where several threads would take each other's weights.
        n_workers = 1 if self.alignment else engine.n_workers
        pool = ThreadPoolExecutor(n_workers, initializer=engine.start_worker)
        try:
            while part := list(islice(lines, next(sizes))):
                pending.append(self._submit(part, first_number, pool))
                first_number += len(part)
                if len(pending) > ahead:
                    yield self._results(pending.popleft())
            while pending:
                yield self._results(pending.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    def _submit(self, lines: Sequence[tuple[str, str]], first_number: int, pool: ThreadPoolExecutor) -> _Window:
        translator = self.translator
        texts = [text for text, _ in lines]
        encoded = translator.encode(texts)
        parts: list[list[Part]] = []
        sentences: list[Sentence] = []
        first_of_line = set()  # the sentences that lines begin with
        for number, ((text, prefix), ids) in enumerate(zip(lines, encoded, strict=True), start=first_number):
            parts.append(self._split(text, ids))
            if len(parts[-1]) > 1:
                sources = translator.tokenizer.encode([part.text for part in parts[-1]])
                # A part may be of such characters alone as the tokenizer leaves out.
                parts[-1] = [part for part, source in zip(parts[-1], sources, strict=True) if source]
                sources = [source for source in sources if source]
            else:
                sources = [ids] * len(parts[-1])
            first_of_line.add(len(sentences))
            # A prefix is that of the first part; the sentences of a line share its random numbers.
            prefixes = [self._prefix(prefix, number), *[()] * len(sources)]
            sentences += [Sentence(source, prefix, number) for source, prefix in zip(sources, prefixes, strict=False)]
        lengths = [max(len(sentence.source), len(sentence.prefix)) for sentence in sentences]
        searches = []
        for indices in plan_batches(lengths, self.decoding):
            n_lines = len(first_of_line.intersection(indices))
            searches.append((indices, pool.submit(self._search, [sentences[i] for i in indices], n_lines)))
        return _Window(texts, parts, sentences, searches)

    def _split(self, text: str, ids: list[int]) -> list[Part]:
        if not ids:
            return []
        if len(ids) <= self.translator.max_source_tokens:
            return [Part(text, 0)]
        return split(text, self.translator.max_source_tokens, self.translator.count_tokens)

    def _prefix(self, text: str, number: int) -> Sequence[int]:
        (ids,) = self.translator.encode([text])
        if len(ids) >= self.translator.engine.max_length:
            raise TranslationError(
                f"the prefix of line {number + 1} has {len(ids)} tokens, and the model writes at most "
                f"{self.translator.engine.max_length}; shorten it"
            )
        return ids

    def _search(self, sentences: list[Sentence], n_lines: int) -> list[_Found]:
        """One batch, in a thread of the pool; n_lines: for `on_batch`."""
        engine = self.translator.engine
        found = engine.decode(sentences, self.decoding)
        sources = [sentence.source for sentence, hypotheses in zip(sentences, found, strict=True) for _ in hypotheses]
        # What was cut at the longest possible length has no place for the eos that scoring would append, see below.
        targets = [hypothesis.tokens[: engine.max_length - 1] for hypotheses in found for hypothesis in hypotheses]
        log_probs = iter(engine.score(sources, targets) if self.token_scores else ())
        attention = iter(
            engine.attention(sources, targets) if self.alignment and isinstance(engine, PyTorchEngine) else ()
        )
        results = [
            _Found(
                hypotheses,
                list(islice(log_probs, len(hypotheses))) if self.token_scores else None,
                list(islice(attention, len(hypotheses))) if self.alignment else None,
            )
            for hypotheses in found
        ]
        self.on_batch(n_lines)
        return results

    def _results(self, window: _Window) -> list[Translation]:
        found: dict[int, _Found] = {}
        for indices, search in window.searches:
            found.update(zip(indices, search.result(), strict=True))
        pairs = ((sentence, found[index]) for index, sentence in enumerate(window.sentences))
        return [
            self._translation(line, parts, list(islice(pairs, len(parts))))
            for line, parts in zip(window.lines, window.parts, strict=True)
        ]

    def _translation(self, line: str, parts: list[Part], pairs: list[tuple[Sentence, _Found]]) -> Translation:
        if not parts:
            return Translation(line, "", [Alternative("", 0.0, 0.0)], [])
        n_best = min(len(found.hypotheses) for _, found in pairs)
        alternatives = [self._alternative(line, parts, pairs, rank) for rank in range(n_best)]
        n_source = sum(len(sentence.source) for sentence, _ in pairs)
        n_target = sum(len(found.hypotheses[0].tokens) for _, found in pairs)
        suspicions = findings(line, alternatives[0].text, n_source, n_target)
        if len(parts) > 1:
            suspicions.append(
                Finding(
                    "split",
                    f"{n_source} tokens are more than the {self.translator.max_source_tokens} that the model takes, so "
                    f"the line was translated in {len(parts)} parts",
                )
            )
        if not all(found.hypotheses[0].finished for _, found in pairs):
            suspicions.append(Finding("cut", f"the translation was cut off after {n_target} tokens"))
        return Translation(line, alternatives[0].text, alternatives, [part.text for part in parts], suspicions)

    def _alternative(
        self, line: str, parts: list[Part], pairs: list[tuple[Sentence, _Found]], rank: int
    ) -> Alternative:
        """Hypothesis `rank` of each part, joined."""
        tokenizer = self.translator.tokenizer
        hypotheses = [found.hypotheses[rank] for _, found in pairs]
        texts = [text.translate(_LINE_ENDS) for text in tokenizer.decode([each.tokens for each in hypotheses])]
        log_prob = sum(each.log_prob for each in hypotheses)
        n_tokens = sum(len(each.tokens) + each.finished for each in hypotheses)
        penalty = length_penalty(n_tokens, self.decoding.normalization, self.decoding.alpha)
        tokens: list[tuple[str, float]] | None = [] if self.token_scores else None
        if tokens is not None:
            for (_, found), each in zip(pairs, hypotheses, strict=True):
                assert found.log_probs is not None
                ids = [*each.tokens, EOS] if each.finished else each.tokens
                log_probs = found.log_probs[rank][: len(ids)]
                if len(each.tokens) == self.translator.engine.max_length:  # the last token was left out of scoring
                    log_probs[-1] = each.log_prob - sum(log_probs[:-1])
                tokens += zip(tokenizer.pieces(ids), log_probs, strict=True)
        text = rejoin(texts, self.translator.config.data.tgt_lang)
        if self.typography:
            text = TYPOGRAPHIES[self.typography](text)
        alternative = Alternative(text, log_prob, log_prob / penalty, tokens)
        if not self.alignment:
            return alternative
        attention = []
        alignment: list[tuple[int, int]] = []
        n_words = 0  # of the translation so far
        for part, (sentence, found), each, translated in zip(parts, pairs, hypotheses, texts, strict=True):
            assert found.attention is not None
            weights = found.attention[rank]
            src_pieces, tgt_pieces = tokenizer.pieces(sentence.source), tokenizer.pieces(each.tokens[: len(weights)])
            attention.append(Attention(src_pieces, tgt_pieces, weights))
            # A part may begin inside a word, where a word alone is too long.
            before = line[: part.start]
            first = len(before.split()) - bool(before and not before[-1].isspace())
            alignment += [(first + src, n_words + tgt) for src, tgt in word_alignment(weights, src_pieces, tgt_pieces)]
            n_words += len(translated.split())
        return dataclasses.replace(alternative, attention=attention, alignment=alignment)


def _with_prefixes(lines: Iterable[str], prefixes: Iterable[str] | None) -> Iterator[tuple[str, str]]:
    if prefixes is None:
        yield from ((line, "") for line in lines)
        return
    others = iter(prefixes)
    end = object()
    for line in lines:
        prefix = next(others, end)
        if not isinstance(prefix, str):
            break
        yield line, prefix
    else:
        if next(others, end) is end:
            return
    raise TranslationError("there are not as many prefixes as lines; give one for each, blank for none")
