"""A trained model as a function from text to text.

translator = seq2seq.load("runs/multi30k/2026-11-21_120000")
translator.translate(["Un chat dort."])[0].text
"""

import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig
from seq2seq.errors import ConfigError, TranslationError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.load import load_engine
from seq2seq.translation.engines.options import EngineOptions
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.options import DecodingSettings, TranslationOptions
from seq2seq.translation.result import TextHypothesis, Translation
from seq2seq.translation.scoring import score_pairs
from seq2seq.translation.stream import WINDOWS, Stream

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Translator:
    """Translates with one model, or with an ensemble."""

    def __init__(self, models: Sequence[TrainedModel], engine: Engine) -> None:
        """Use `load`."""
        self.models = models
        self.engine = engine
        self.config = models[0].config
        self.tokenizer: Tokenizer = models[0].tokenizer

    @classmethod
    def load(cls, paths: Sequence[str | Path], options: EngineOptions) -> "Translator":
        """The translator of a run directory, a checkpoint file or a model directory. Several paths are an ensemble.

        Raises:
            UserError: see `TrainedModel.read` and `load_engine`.
        """
        models = [TrainedModel.read(path) for path in paths]
        return cls(models, load_engine(models, options))

    @property
    def fingerprint(self) -> list[str]:
        """The fingerprint of each model."""
        return [model.fingerprint for model in self.models]

    @property
    def decoding(self) -> DecodingConfig:
        """The settings that the model was validated with, in batches that suit the engine."""
        return dataclasses.replace(self.config.decoding, max_batch_tokens=self.engine.max_batch_tokens)

    @property
    def max_source_tokens(self) -> int:
        """Longer sources are split: the model saw none in training, or cannot read them."""
        return min(self.config.data.max_sentence_tokens, self.engine.max_length - 1)

    def translate(
        self,
        lines: Sequence[str],
        decoding: DecodingConfig | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        tag: str = "",
        token_scores: bool = False,
        alignment: bool = False,
        typography: str = "",
        **settings: "Unpack[DecodingSettings]",
    ) -> list[Translation]:
        """One translation for each line, in order.

        Args:
            decoding: settings of the search; None for `self.decoding`, the ones that the model was validated with.
            prefixes, tag, token_scores, alignment, typography: see `translate_windows` and `TranslationOptions`.
            settings: single settings that replace those of `decoding`, such as beam_size=1.
        Raises:
            UserError: as `translate_windows` does.
            TypeError: an argument is neither named above nor in `DecodingSettings`.
        """
        decoding = dataclasses.replace(decoding or self.decoding, **settings)
        options = TranslationOptions(tag=tag, token_scores=token_scores, alignment=alignment, typography=typography)
        return list(self.translate_stream(lines, decoding, options, prefixes=prefixes))

    def translate_stream(
        self,
        lines: Iterable[str],
        decoding: DecodingConfig | None = None,
        options: TranslationOptions | None = None,
        *,
        prefixes: Iterable[str] | None = None,
    ) -> Iterator[Translation]:
        """One translation for each line, in order, in memory that does not grow with their number.

        The arguments and errors are those of `translate_windows`.
        """
        for window in self.translate_windows(lines, decoding, options, prefixes=prefixes):
            yield from window

    def translate_windows(
        self,
        lines: Iterable[str],
        decoding: DecodingConfig | None = None,
        options: TranslationOptions | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        first_number: int = 0,
        windows: Sequence[int] = WINDOWS,
        on_batch: Callable[[int], None] | None = None,
    ) -> Generator[list[Translation], None, None]:
        """Translate a stream in windows: the lines of a window are read, batched and returned together.

        Blank lines stay blank and do not reach the model. A line of more than `max_source_tokens` tokens is split into
        sentences, and a sentence that is too long into smaller parts. The translations of its parts are joined.

        Args:
            decoding: None for `self.decoding`.
            options: None for the text alone.
            prefixes: one for each line: its translations begin with it. It should end with a word; blank for none.
            first_number: number of lines before the first one. Each line has its own random numbers for sampling.
            windows: how many lines each window has; the last number repeats. (1,) for a dialogue.
            on_batch: called after each batch with the number of lines that begin in it, some time before they are
                returned. Threads of the search call it.
        Raises:
            ConfigError: a setting cannot work, or the engine does not have it.
            TranslationError: there are not as many prefixes as lines, a prefix is too long, or memory is short.
            TokenizerError: a line is not Unicode, or the model does not have the tag.
            TypeError: `lines` is one string in place of many.
        """
        if isinstance(lines, str):
            raise TypeError("lines is one string; pass a list with a string for each line")
        decoding, options = decoding or self.decoding, options or TranslationOptions()
        if problems := list(decoding.problems()):
            raise ConfigError("\n".join(problems))
        self.engine.check(decoding, attention=options.alignment)
        tag_ids = self.tokenizer.tag(options.tag)
        stream = Stream(
            engine=self.engine,
            tokenizer=self.tokenizer,
            max_source_tokens=min(self.max_source_tokens, self.engine.max_length - 1 - len(tag_ids)),
            tag_ids=tag_ids,
            tgt_lang=self.config.data.tgt_lang,
            decoding=decoding,
            options=options,
            on_batch=on_batch or (lambda n_lines: None),
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
        """How probable the model finds each given translation, in order; see `scoring.score_pairs`.

        Args:
            pairs: source and translation.
            decoding: None for `self.decoding`.
            tag: the kind of text of the sources, one of `tokenizer.tags`; empty: unknown.
            first_number: number of pairs before the first one, for messages.
        """
        tag_ids = self.tokenizer.tag(tag)
        return score_pairs(self.engine, self.tokenizer, pairs, decoding or self.decoding, tag_ids, first_number)


def _with_prefixes(lines: Iterable[str], prefixes: Iterable[str] | None) -> Iterator[tuple[str, str]]:
    if prefixes is None:
        yield from ((line, "") for line in lines)
        return
    prefixes = iter(prefixes)
    end = object()
    for line in lines:
        prefix = next(prefixes, end)
        if not isinstance(prefix, str):
            break
        yield line, prefix
    else:
        if next(prefixes, end) is end:
            return
    raise TranslationError("there are not as many prefixes as lines; give one for each, blank for none")
