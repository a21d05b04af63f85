"""Vectors of text in its context: what the encoder makes of each word or sentence.

Shapes: S source tokens, N rows, D d_model
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from seq2seq.analysis.alignment import up_to, words_of_pieces
from seq2seq.characters import split_words
from seq2seq.decoding.search import pad_sources
from seq2seq.errors import ConfigError
from seq2seq.inspection.torch_model import engine_of_one_model
from seq2seq.model.states import encoder_states
from seq2seq.options import check_types, strings
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.translator import Translator

UNITS, POOLS = ("sentence", "word", "piece"), ("mean", "max")
_WINDOW = 2048  # lines that are sorted by length together
_BATCH_TOKENS = 8192  # padded

Vectors = npt.NDArray[np.float32]


class LineVectors(NamedTuple):
    """The vectors of one line.

    Attributes:
        text: the line.
        names: what each row is of: the line, a word or a piece.
        places: the number of that word or piece in the line, from 0. A word of characters that the model does not know
            has no row.
        vectors: (N, D). A sentence has one row, of zeros if nothing of the line reaches the model.
    """

    text: str
    names: list[str]
    places: npt.NDArray[np.int32]
    vectors: Vectors


@dataclass(frozen=True, kw_only=True)
class VectorOptions:
    """What a row is, and how it is made of the vectors of pieces.

    Attributes:
        unit: one of `UNITS`; a word is what white space separates.
        pool: one of `POOLS`: of each number, the mean over the pieces, or the largest one, tag and eos left out.
        layer: of the encoder, counted from 1; 0: the embeddings with their positions; None: the last one, as the
            decoder sees it.
        tag: the kind of text of the lines, for models that have tags.
    """

    unit: str = "sentence"
    pool: str = "mean"
    layer: int | None = None
    tag: str = ""

    def check(self, n_layers: int) -> None:
        """
        Raises:
            ConfigError: one of them cannot be.
            TypeError: the layer is no number.
        """
        check_types({"layer": self.layer or 0}, {"layer": int})
        for name, value, choices in (("unit", self.unit, UNITS), ("pool", self.pool, POOLS)):
            if value not in choices:
                raise ConfigError(f"{name}={value!r} is not one of {', '.join(choices)}")
        if self.layer is not None and not 0 <= self.layer <= n_layers:
            raise ConfigError(f"layer={self.layer}: the encoder has {n_layers} layers; give 0 to {n_layers}")


def line_vectors(
    translator: Translator, lines: Iterable[str], options: VectorOptions | None = None
) -> Generator[LineVectors, None, None]:
    """Vectors of lines in their context, from the encoder of a model, in memory that does not grow with their number.

    A line is read as it is, in one piece; one that is too long for the model is read in windows.

    Raises:
        ConfigError: an option cannot be, or the engine gives no vectors.
        TokenizerError: a line is not Unicode, or the model does not have the tag.
        TypeError: the lines are one string, one of them is no string, or the layer is no number.
    """
    lines, options = strings(lines, "lines"), options or VectorOptions()
    options.check(translator.config.model.n_encoder_layers)
    n_tags = len(translator.tokenizer.tag(options.tag))
    longest = min(translator.config.data.max_sentence_tokens, translator.engine.max_length - 1 - n_tags)
    engine = engine_of_one_model(translator.engine, "what the vectors of its encoder are")
    return LineEncoder(engine, translator.tokenizer, options, longest).run(lines)


@dataclass(frozen=True)
class LineEncoder:
    """Makes vectors of lines.

    Attributes:
        longest: most tokens that the model reads at once, without tag and eos. A longer line is read in windows.
    """

    engine: PyTorchEngine
    tokenizer: Tokenizer
    options: VectorOptions
    longest: int

    @property
    def width(self) -> int:
        """D, the numbers of a vector."""
        return self.engine.models[0].config.d_memory

    def run(self, lines: Iterable[str]) -> Generator[LineVectors, None, None]:
        """The vectors of each line, in order, in memory that does not grow with their number."""
        lines = iter(lines)
        while window := list(islice(lines, _WINDOW)):
            ids = self.tokenizer.encode(["" if line.isspace() else line for line in window])
            for line, states in zip(window, self._states(ids), strict=True):
                yield self._pooled(line, states)

    def _states(self, sources: Sequence[Sequence[int]]) -> list[Vectors]:
        """The states of all tokens of each source, (S, D). Sources of like length are read together."""
        tag = self.tokenizer.tag(self.options.tag)
        parts = [
            (number, begin, source[begin : begin + self.longest])
            for number, source in enumerate(sources)
            for begin in range(0, len(source), self.longest)
        ]
        states = [np.zeros((len(source), self.width), dtype=np.float32) for source in sources]
        parts.sort(key=lambda part: -len(part[2]))
        while parts:
            n = max(1, _BATCH_TOKENS // (len(parts[0][2]) + len(tag) + 1))
            batch, parts = parts[:n], parts[n:]
            found = self._encoded([[*tag, *ids] for _, _, ids in batch])
            for (number, begin, ids), each in zip(batch, found, strict=True):
                states[number][begin : begin + len(ids)] = each[len(tag) : len(tag) + len(ids)]
        return states

    def _encoded(self, sources: Sequence[Sequence[int]]) -> list[Vectors]:
        """For each source of a batch: what the layer makes of each of its tokens, and of eos, (S, D)."""
        src = pad_sources(sources, self.engine.max_length).to(self.engine.device)
        with torch.inference_mode(), self.engine.autocast():
            states = encoder_states(self.engine.models[0], src, self.options.layer).float().cpu().numpy()
        return [each[: len(source) + 1] for each, source in zip(states, sources, strict=True)]

    def _pooled(self, line: str, states: Vectors) -> LineVectors:
        if self.options.unit == "sentence":
            starts, places, names = np.zeros(1, dtype=np.int64), [0], [line]
            if not len(states):
                return LineVectors(line, names, np.zeros(1, dtype=np.int32), np.zeros((1, self.width), np.float32))
        elif not len(states):
            return LineVectors(line, [], np.zeros(0, dtype=np.int32), states)
        elif self.options.unit == "word":
            word_of = words_of_pieces(line, self.tokenizer.offsets(line))
            places, starts = (each.tolist() for each in np.unique(word_of, return_index=True))
            words = split_words(line)
            names = ["".join(words[word] for word in inside) for inside in up_to(places).values()]
        else:
            places = list(range(len(states)))
            starts, names = np.arange(len(states)), self.tokenizer.pieces(self.tokenizer.encode([line])[0])
        return LineVectors(line, names, np.array(places, dtype=np.int32), self._reduced(states, np.asarray(starts)))

    def _reduced(self, states: Vectors, starts: npt.NDArray[np.int64]) -> Vectors:
        """The pieces from each start to the next one as one row."""
        if self.options.pool == "max":
            largest: Vectors = np.maximum.reduceat(states, starts)
            return largest
        lengths = np.diff([*starts, len(states)])[:, None]
        mean: Vectors = (np.add.reduceat(states, starts, dtype=np.float64) / lengths).astype(np.float32)
        return mean
