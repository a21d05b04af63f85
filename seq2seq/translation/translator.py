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
    """Engine and tokenizer of one model, or of an ensemble."""

    def __init__(self, models: Sequence[TrainedModel], engine: Engine) -> None:
        """Use `load`."""
        self.models = models
        self.engine = engine
        self.config = models[0].config
        self.tokenizer: Tokenizer = models[0].tokenizer

    @classmethod
    def load(cls, paths: Sequence[str | Path], options: EngineOptions) -> "Translator":
        """The translator of a run directory, a checkpoint file or a model directory; several are an ensemble.

        Raises:
            UserError: see `TrainedModel.read` and `load_engine`.
        """
        models = [TrainedModel.read(path) for path in paths]
        return cls(models, load_engine(models, options))

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
            decoding: settings of the search; None for `self.decoding`, those that the model was validated with.
            prefixes, tag, token_scores, alignment, typography: see `translate_windows` and `TranslationOptions`.
            settings: single values in place of those of `decoding`, such as beam_size=1.
        Raises:
            UserError: as `translate_windows` does.
            TypeError: an argument that is neither named above nor in `DecodingSettings`.
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
        """The translations of a stream, window by window: what is given back together was translated together.

        Blank lines stay blank and do not reach the model. A line of more than `max_source_tokens` tokens is split into
        sentences, or smaller where that is not enough, and its translations are joined.

        Args:
            decoding: None for `self.decoding`.
            options: None for the text alone.
            prefixes: for each line, what its translations begin with; blank: anything. It should end with a word.
            first_number: of sampling: the place of the first line, since each line has its own random numbers.
            windows: lines read, and sorted into batches, before the first of them is given back: the first number for
                the first window and so on, the last one for all others; (1,) for a dialogue.
            on_batch: told how many lines a batch held the beginnings of, some time before they are given back. Threads
                of the search call it.
        Raises:
            ConfigError: settings that cannot work, or that the engine does not have.
            TranslationError: not as many prefixes as lines, a prefix that is too long, or not enough memory.
            TokenizerError: a line that is not Unicode, or a tag that the model does not have.
            TypeError: one string in place of many.
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
            tag: what kind of text the sources are, one of `tokenizer.tags`; empty: not said.
            first_number: of messages: the place of the first pair.
        """
        tag_ids = self.tokenizer.tag(tag)
        return score_pairs(self.engine, self.tokenizer, pairs, decoding or self.decoding, tag_ids, first_number)


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
