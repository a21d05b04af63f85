"""A trained model as a function from text to text.

translator = seq2seq.load("runs/multi30k/2026-11-21_120000")
translator.translate(["Un chat dort."])[0].text
"""

import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig
from seq2seq.decoding.length import length_penalty
from seq2seq.decoding.sentences import plan_batches
from seq2seq.errors import ConfigError, TranslationError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.load import load_engine
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.engines.workers import Workers, result_of
from seq2seq.translation.result import TextHypothesis, Translation
from seq2seq.translation.stream import WINDOWS, Stream, encode_lines
from seq2seq.translation.text.typography import TYPOGRAPHIES
from seq2seq.vocabulary import EOS


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
        forks: bool = False,
    ) -> "Translator":
        """The translator that a run directory, a checkpoint file or a model directory holds; several are an ensemble.

        The other arguments and what it raises: see `translation/engines/load.py` and `artifacts/trained_model.py`.
        """
        paths = [path] if isinstance(path, str | Path) else list(path)
        models = [TrainedModel.read(each) for each in paths]
        return cls(models, load_engine(models, engine, device, precision, threads, workers, forks))

    @property
    def fingerprint(self) -> list[str]:
        """What identifies the models."""
        return [model.fingerprint for model in self.models]

    @property
    def decoding(self) -> DecodingConfig:
        """The settings that the model was validated with, in batches that suit the engine."""
        return dataclasses.replace(self.config.decoding, max_batch_tokens=self.engine.max_batch_tokens)

    @property
    def max_source_tokens(self) -> int:
        """Longer sources are split: training saw none of them, or the model cannot read them."""
        return min(self.config.data.max_sentence_tokens, self.engine.max_length - 1)

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
        tag: str = "",
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
            tag: what kind of text the lines are, one of `tokenizer.tags`; empty: not said.
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
            TokenizerError: a line that is not Unicode, or a tag that the model does not have.
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
        tag_ids = self.tokenizer.tag(tag)
        stream = Stream(
            self.engine,
            self.tokenizer,
            min(self.max_source_tokens, self.engine.max_length - 1 - len(tag_ids)),
            tag_ids,
            self.config.data.tgt_lang,
            decoding,
            token_scores,
            alignment,
            typography,
            on_batch or (lambda n_lines: None),
        )
        return stream.run(_with_prefixes(lines, prefixes), first_number, windows)

    def score(
        self,
        pairs: Iterable[tuple[str, str]],
        decoding: DecodingConfig | None = None,
        *,
        tag: str = "",
        first_number: int = 0,
    ) -> Iterator[TextHypothesis]:
        """How probable the model finds each given translation, in order.

        Args:
            pairs: source and translation; where both are blank the log-probability is 0.
            tag: as in `translate_windows`.
            first_number: of messages: the place of the first pair.
        Yields:
            The given text with its log-probability, its score and that of each token.
        Raises:
            TranslationError: a side of more tokens than the model reads, or only one of the two blank.
            TokenizerError: a line that is not Unicode, or a tag that the model does not have.
        """
        decoding = decoding or self.decoding
        tag_ids = self.tokenizer.tag(tag)
        iterator = enumerate(pairs, start=first_number + 1)
        workers = Workers(self.engine)
        try:
            while window := list(islice(iterator, WINDOWS[0])):
                yield from self._score_window(window, tag_ids, decoding, workers)
        finally:
            workers.close()

    def _score_window(
        self,
        window: Sequence[tuple[int, tuple[str, str]]],
        tag: list[int],
        decoding: DecodingConfig,
        workers: Workers,
    ) -> list[TextHypothesis]:
        sources = [tag + ids if ids else ids for ids in encode_lines(self.tokenizer, [src for _, (src, _) in window])]
        targets = encode_lines(self.tokenizer, [tgt for _, (_, tgt) in window])
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
        batches = [
            (indices, workers.submit(_score, [sources[i] for i in indices], [targets[i] for i in indices]))
            for indices in plan_batches(lengths, dataclasses.replace(decoding, sampling=False))
        ]
        for indices, scores in batches:
            of_batch = result_of(scores)
            for index, of_pair in zip(indices, of_batch, strict=True):
                log_probs[index] = of_pair
        scored = []
        for (_, (_, text)), target, of_pair in zip(window, targets, log_probs, strict=True):
            total = sum(of_pair)
            penalty = length_penalty(max(1, len(of_pair)), decoding.normalization, decoding.alpha)
            tokens = list(zip(self.tokenizer.pieces([*target, EOS]), of_pair, strict=False))
            scored.append(TextHypothesis(text, total, total / penalty, tokens))
        return scored


def _score(engine: Engine, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
    return engine.score(sources, targets)


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
