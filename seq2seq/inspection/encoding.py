"""One call of the command `encode`: vectors of lines to a file, a picture of them, or the neighbours of a word."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.characters import word_spans
from seq2seq.corpus.reader import read_lines
from seq2seq.errors import TranslationError
from seq2seq.hardware import speed_up_cpu
from seq2seq.inspection.neighbours import Neighbour, nearest, rows_of, vector_of
from seq2seq.inspection.vector_file import write_vectors
from seq2seq.inspection.vector_picture import draw_vectors
from seq2seq.inspection.vectors import LineVectors, VectorOptions, line_vectors
from seq2seq.reports.style import FORMATS
from seq2seq.translation.destination import check_destination, check_file
from seq2seq.translation.engines.load import load_engine
from seq2seq.translation.options import EngineOptions
from seq2seq.translation.streams import to_read
from seq2seq.translation.translator import Translator

_MOST_POINTS = 5000  # of a picture


@dataclass(frozen=True, kw_only=True)
class EncodeRequest:
    """What the user asks for."""

    model: Path
    input: Path
    options: VectorOptions
    engine: EngineOptions

    def vectors(self) -> Iterator[LineVectors]:
        """Of each line of the input, in order."""
        return self.vectors_of(read_lines(to_read(self.input)))

    def vectors_of(self, lines: Iterable[str]) -> Iterator[LineVectors]:
        """Of these lines."""
        return line_vectors(self._translator, lines, self.options)

    @cached_property
    def trained(self) -> TrainedModel:
        """The model that makes them."""
        return TrainedModel.read(self.model)

    @cached_property
    def _translator(self) -> Translator:
        speed_up_cpu()
        return Translator([self.trained], load_engine([self.trained], self.engine))

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Option and path of what is read."""
        return [("--input", self.input), ("--model", self.model)]


def encode_to_file(request: EncodeRequest, output: Path | None, dtype: str) -> int:
    """Write all vectors, and say how many there were.

    Args:
        output: None for stdout.
    Raises:
        UserError: wrong input, or something that the model cannot do.
    """
    if output is None:
        check_destination(None, request.files)
        if sys.stdout.isatty():
            raise TranslationError("vectors are numbers, not text for a terminal; redirect, or name a file: --output")
    else:
        check_file(output, request.files, endings=("npz", "npy"))
        if output.suffix.lower() == ".npy" and request.options.unit != "sentence":
            raise TranslationError(
                f"--output {output}: an .npy has no room for which line a {request.options.unit} is of; write an .npz"
            )
    return write_vectors(request.vectors(), request.trained.config.model.d_memory, output, dtype)


def draw(request: EncodeRequest, word: str, picture: Path) -> int:
    """Draw the vectors, or those of one word in all its places; says how many they are.

    Raises:
        UserError: wrong input; no vector, or too many for a picture.
    """
    check_file(picture, request.files, "--picture", FORMATS)
    vectors, labels = [], []
    for line in request.vectors():
        for row in rows_of(word, line) if word else range(len(line.vectors)):
            vectors.append(line.vectors[row])
            labels.append(around(line.text, int(line.places[row])) if word else line.names[row])
        if len(vectors) > _MOST_POINTS:
            raise TranslationError(f"a picture of more than {_MOST_POINTS:,} points cannot be read; give fewer lines")
    if not vectors:
        raise TranslationError(f"there is nothing to draw: no line has {f'the word {word!r}' if word else 'a vector'}")
    draw_vectors(np.stack(vectors), labels, word or f"by {request.options.unit}", picture)
    return len(vectors)


def neighbours(request: EncodeRequest, sentence: str, word: str, n: int) -> list[Neighbour]:
    """The words of the input that are nearest to a word of a sentence.

    Raises:
        UserError: wrong input; the sentence does not have the word.
    """
    (line,) = request.vectors_of([sentence])
    return nearest(vector_of(word, line), request.vectors(), n, sentence)


def around(text: str, place: int, n_words: int = 3) -> str:
    """A word with a few words before and after it."""
    spans = word_spans(text)
    shown = spans[max(0, place - n_words) : place + n_words + 1]
    (first, _), (begin, end), (_, last) = shown[0], spans[place], shown[-1]
    word = f"{text[first:begin]}[{text[begin:end]}]{text[end:last]}"
    return "… " * (shown[0] != spans[0]) + word + " …" * (shown[-1] != spans[-1])
