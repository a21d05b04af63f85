"""A trained model as a function from text to text.

translator = seq2seq.load("runs/multi30k/2026-11-21_120000")
translator.translate(["Un chat dort."])[0].text
"""

import dataclasses
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig
from seq2seq.dataset.seen import SeenText
from seq2seq.decoding import n_hypotheses
from seq2seq.errors import ConfigError
from seq2seq.options import check_string, check_types, listed, strings
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.blocks import Block, beside, block_size, cut
from seq2seq.translation.engines import Engine, Needs
from seq2seq.translation.engines.load import load_engine
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.flow import flow, score, search
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.normalising import Normaliser
from seq2seq.translation.options import EngineOptions, EngineSettings, Settings, TextSettings, TranslationOptions
from seq2seq.translation.result import Scored, Translation
from seq2seq.translation.stream import Scoring, Stream
from seq2seq.translation.text.glossary import Demands, Term
from seq2seq.translation.text.rewriting import AUTO
from seq2seq.translation.text.splitting import LineSplitter

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

T = TypeVar("T")


class Translator:
    """Translates with one model, or with an ensemble."""

    def __init__(
        self, models: Sequence[TrainedModel], engine: Engine, say: Callable[[str], None] = warnings.warn
    ) -> None:
        """Use `load`.

        Args:
            say: tells the user what the workers have to say, such as that memory is short.
        """
        self.models = models
        self._say = say
        self.engine = engine
        self.config = models[0].config
        self.tokenizer: Tokenizer = models[0].tokenizer

    @classmethod
    def load(cls, paths: Sequence[str | Path], options: EngineOptions) -> "Translator":
        """The translator of a run directory, a checkpoint file or a model directory. Several paths are an ensemble.

        Raises:
            UserError: see `TrainedModel.read` and `load_engine`; or no path is given.
            TypeError: a path is neither a string nor a `Path`.
        """
        paths = list(listed(paths, "path", "the path of each model"))
        if not paths:
            raise ConfigError("no model is named; give the path of one, or of several as an ensemble")
        for path in paths:
            if not isinstance(path, str | PathLike):
                raise TypeError(f"path={path!r} is of the type {type(path).__name__}; give a string or a Path")
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
    def seen(self) -> SeenText | None:
        """What the text was like that the first model was trained on; None if it does not say."""
        return self.models[0].seen

    @cached_property
    def workers(self) -> Workers:
        """Search batches for this translator, as long as it lives."""
        return Workers(self.engine, self._say)

    def close(self) -> None:
        """End the workers at once. Further work starts new ones."""
        if workers := self.__dict__.pop("workers", None):
            workers.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def translate(
        self,
        lines: Iterable[str],
        decoding: DecodingConfig | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        **settings: "Unpack[Settings]",
    ) -> list[Translation]:
        """One translation for each line, in order.

        Args:
            decoding: settings of the search; None for `self.decoding`, the ones that the model was validated with.
            prefixes: see `translate_stream`.
            settings: the kind of text and what to return, such as alignment=True, see `TextSettings`; and single
                settings that replace those of `decoding`, such as beam_size=1.
        Raises:
            UserError: as `translate_stream` does.
            TypeError: an argument is neither named above nor in `Settings`, or it or a line is of another type.
        """
        hints = get_type_hints(Settings) | {"decoding": object, "prefixes": object}
        check_types(settings, hints, get_type_hints(EngineSettings), "load()")
        decoding = decoding or self.decoding
        _check_decoding(decoding)
        given: dict[str, Any] = {**settings}
        text: dict[str, Any] = {name: given.pop(name) for name in TextSettings.__annotations__ if name in given}
        text |= {"terms": _terms(settings.get("terms") or {})}
        text |= {"keep": tuple(listed(settings.get("keep", ()), "keep", "the kinds of things"))}
        text |= {"keep_pattern": tuple(listed(settings.get("keep_pattern", ()), "keep_pattern", "regular expressions"))}
        options = TranslationOptions(**text)
        decoding = dataclasses.replace(decoding, **given)
        try:
            return list(self.translate_stream(lines, decoding, options, prefixes=prefixes))
        except ConfigError as error:  # keys of the configuration are arguments here
            error.args = (str(error).replace("decoding.", ""),)
            raise

    def translate_stream(
        self,
        lines: Iterable[str],
        decoding: DecodingConfig | None = None,
        options: TranslationOptions | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        first_number: int = 0,
        on_done: Callable[[float], None] | None = None,
    ) -> Generator[Translation, None, None]:
        """One translation for each line, in order, in memory that does not grow with their number.

        Blank lines stay blank and do not reach the model. Lines of more sentences than lines in training had are split
        into sentences (see `TranslationOptions.split`), and sentences that are too long into smaller parts. The
        translations of the parts are joined with the white space of the line.

        Args:
            lines: of text. They are read and searched in blocks, see `blocks.py`.
            decoding: None for `self.decoding`.
            options: None for the text alone.
            prefixes: one for each line: its translations begin with it. It should end with a word; blank for none. Of a
                line that is split, it is the beginning of the first part.
            first_number: number of lines before the first one. Each line has its own random numbers for sampling.
            on_done: called with how many more lines are done, about, some time before they are returned.
        Raises:
            ConfigError: a setting cannot work, or the engine does not have it.
            TranslationError: there are not as many prefixes as lines, a prefix is too long, or memory is short.
            TokenizerError: a line is not Unicode, or the model does not have the tag.
            TypeError: an argument, or one of the lines or prefixes, is of another type.
        """
        options = options or TranslationOptions()
        if not isinstance(options, TranslationOptions):
            raise TypeError(f"options={options!r} is not of the type TranslationOptions")
        decoding = decoding or self.decoding
        _check_decoding(decoding)
        pieces: Iterator[Piece] = map(Piece.of_line, strings(lines, "lines"), count(first_number + 1))
        if prefixes is not None:
            complaint = "there are not as many prefixes as lines; give one for each, blank for none"
            pieces = beside(pieces, strings(prefixes, "prefixes"), complaint)
        size = block_size(decoding.max_batch_tokens, n_hypotheses(options.searched_with(decoding)))
        blocks = cut(pieces, size, first_text=first_number)
        return _each(self.translate_blocks(blocks, decoding, options, on_done, has_prefixes=prefixes is not None))

    def translate_blocks(
        self,
        blocks: Iterable[Block | None],
        decoding: DecodingConfig,
        options: TranslationOptions,
        on_done: Callable[[float], None] | None,
        *,
        has_prefixes: bool,
    ) -> Generator[tuple[Block, list[Translation]], None, None]:
        """Do as `translate_stream` does, for text in blocks; None where there is none at the moment."""
        searched_with = options.searched_with(decoding)
        asked = dataclasses.replace(decoding, beam_size=searched_with.beam_size)  # `mbr` may widen the beam
        if problems := [*asked.problems(), *searched_with.problems()]:
            raise ConfigError("\n".join(dict.fromkeys(problems)))
        needs = Needs(
            attention=options.alignment or options.takes_out,
            prefixes=has_prefixes,
            required=bool(options.terms),
        )
        self.engine.check(searched_with, needs)
        keeps_numbers, tgt_lang = "numbers" in options.keep, self.config.data.tgt_lang
        demands = Demands(self.tokenizer.target, tgt_lang, options.terms, keeps_numbers=keeps_numbers)
        demands.check()
        tag_ids = self.tokenizer.tag(options.tag)
        stream = Stream(
            max_length=self.engine.max_length,
            tokenizer=self.tokenizer,
            normaliser=self.normaliser(options.normalize, options.keep, options.keep_pattern),
            has_attention=self.engine.gives_attention,
            splitter=self.splitter(options.split, len(tag_ids)),
            longest_seen=None if self.seen is None else self.seen.longest_source,
            tag_ids=tag_ids,
            demands=demands,
            tgt_lang=tgt_lang,
            n_best=decoding.n_best,
            n_searched=searched_with.n_best,
            are_samples=decoding.sampling and not options.mbr,
            options=options,
        )
        for_workers = dataclasses.replace(options, terms=())  # each batch is sent with them
        work = partial(search, decoding=searched_with, options=for_workers, tokenizer=self.tokenizer.target)
        is_split = self.engine.splits_last
        return flow(blocks, stream.prepare, work, self.workers, searched_with, on_done, splits_last=is_split)

    def score(
        self,
        pairs: Iterable[tuple[str, str]],
        decoding: DecodingConfig | None = None,
        *,
        tag: str = "",
        normalize: str = AUTO,
        first_number: int = 0,
        on_done: Callable[[float], None] | None = None,
    ) -> Generator[Scored, None, None]:
        """How probable the model finds each given translation, in order, in memory that does not grow.

        A pair is scored in one piece. If both sides are blank, the log-probability is 0. A pair that cannot be scored
        has a reason and minus infinity.

        Args:
            pairs: source and translation.
            decoding: only its normalisation and its size of batches are used; None for `self.decoding`.
            tag: see `TranslationOptions`.
            normalize: the same, but only of quotation marks, spaces and letter forms: what translating takes out of a
                line, or puts in sentence case, is in the given translation.
            first_number: number of pairs before the first one, for messages.
            on_done: called with how many more pairs are done, some time before they are returned.
        Raises:
            ConfigError: a setting cannot work.
            TranslationError: memory is short.
            TokenizerError: a line is not Unicode, or the model does not have the tag.
            TypeError: an argument, or what should be a pair of strings, is of another type.
        """
        decoding = decoding or self.decoding
        _check_decoding(decoding)
        options = TranslationOptions(tag=tag, normalize=normalize)
        pieces = _paired(listed(pairs, "pairs", "a source and a translation for each line"), first_number)
        blocks = cut(pieces, block_size(decoding.max_batch_tokens, 1), first_text=first_number)
        return _each(self.score_blocks(blocks, decoding, options, on_done))

    def score_blocks(
        self,
        blocks: Iterable[Block | None],
        decoding: DecodingConfig,
        options: TranslationOptions,
        on_done: Callable[[float], None] | None,
    ) -> Generator[tuple[Block, list[Scored]], None, None]:
        """Do as `score` does, for text in blocks, beside which the translations are.

        Args:
            options: only their tag and normalize are used.
        """
        if problems := list(decoding.problems()):
            raise ConfigError("\n".join(problems))
        scoring = Scoring(
            max_length=self.engine.max_length,
            tokenizer=self.tokenizer,
            normaliser=self.normaliser(options.normalize),
            decoding=decoding,
            tag_ids=self.tokenizer.tag(options.tag),
        )
        is_split = self.engine.splits_last
        return flow(blocks, scoring.prepare, score, self.workers, decoding, on_done, splits_last=is_split)

    def normaliser(self, normalize: str, keep: Sequence[str] = (), keep_pattern: Sequence[str] = ()) -> Normaliser:
        """What reads lines as the training text had them; see `TranslationOptions`."""
        looks = None if self.seen is None else self.seen.looks
        return Normaliser(self.config, self.tokenizer, looks, normalize, keep, keep_pattern)

    def splitter(self, split: str, n_tags: int) -> LineSplitter:
        """What cuts lines into parts, each with so many tags before it; see `TranslationOptions`."""
        readable = min(self.config.data.max_sentence_tokens, self.engine.max_length - 1 - n_tags)
        if split == "never":
            return LineSplitter(self.tokenizer.encode, readable, None)
        if self.seen is None:  # a model of an earlier version
            return LineSplitter(self.tokenizer.encode, readable, 1)
        n_sentences = self.seen.usual_sentences if split == "auto" else 1
        return LineSplitter(self.tokenizer.encode, min(readable, self.seen.longest_source), n_sentences)


def _check_decoding(decoding: DecodingConfig) -> None:
    if not isinstance(decoding, DecodingConfig):
        raise TypeError(f"decoding={decoding!r} is not of the type DecodingConfig")
    check_types(vars(decoding), get_type_hints(DecodingConfig))


def _terms(terms: Mapping[str, str]) -> tuple[Term, ...]:
    if not isinstance(terms, Mapping):
        raise TypeError(f"terms={terms!r} is of the type {type(terms).__name__}; give a dict")
    for term, translation in terms.items():
        check_types({"a term": term, f"terms[{term!r}]": translation}, {"a term": str, f"terms[{term!r}]": str})
    return tuple(terms.items())


def _paired(pairs: Iterable[tuple[str, str]], first_number: int) -> Iterator[Piece]:
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"pairs[{i}]={pair!r} is no pair; give a source and a translation")
        for side, text in enumerate(pair):
            check_string(text, f"pairs[{i}][{side}]")
        yield Piece.of_line(pair[0], first_number + i + 1, pair[1])


def _each(blocks: Generator[tuple[Block, list[T]], None, None]) -> Generator[T, None, None]:
    """What becomes of each text."""
    with closing(blocks):
        for _, results in blocks:
            yield from results
