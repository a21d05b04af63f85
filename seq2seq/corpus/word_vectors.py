"""Vectors of words that others have trained, from the text files of word2vec, GloVe and fastText.

A line has a word and its numbers, with a space between them. The first line may have two numbers instead: how many
words there are, and how many numbers each has.
"""

from collections.abc import Container
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seq2seq.corpus.reader import read_lines
from seq2seq.errors import CorpusError

Vectors = dict[str, npt.NDArray[np.float32]]


def read_word_vectors(path: Path, wanted: Container[str]) -> Vectors:
    """The vectors of the words that are wanted. Of a word that comes twice, the first one.

    Only these are in memory, and a file may be compressed.

    Raises:
        CorpusError: the file cannot be read, or a line has something else (with its number).
    """
    found: Vectors = {}
    width = 0
    for number, line in enumerate(read_lines(path, errors="replace"), start=1):
        word, *numbers = line.rstrip(" ").split(" ")
        if number == 1 and len(numbers) == 1:
            continue  # the two counts
        width = width or len(numbers)
        if len(numbers) > width:  # GloVe has words with spaces
            word, numbers = " ".join([word, *numbers[:-width]]), numbers[-width:]
        if word not in wanted or word in found:
            if len(numbers) < width or not width:
                raise _other_content(path, number, line, width)
            continue
        try:
            vector = np.array(numbers, dtype=np.float32)
        except ValueError:
            vector = np.empty(0, np.float32)
        if not width or len(vector) != width or not np.isfinite(vector).all():
            raise _other_content(path, number, line, width)
        found[word] = vector
    return found


def _other_content(path: Path, number: int, line: str, width: int) -> CorpusError:
    return CorpusError(
        f"{path}:{number}: {line[:60]!r} is not a word and {width or 'its'} numbers; give a text file of vectors, "
        "as word2vec, GloVe and fastText write them (.vec, .txt; not .bin)"
    )
