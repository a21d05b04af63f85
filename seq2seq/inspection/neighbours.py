"""The words whose vectors are nearest to that of a word in its context, in a text of any length."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from seq2seq.errors import TranslationError
from seq2seq.inspection.bare_words import bare_words
from seq2seq.inspection.vectors import LineVectors, Vectors


class Neighbour(NamedTuple):
    """A word in a line, which is numbered from 0, and so is the place of the word in it."""

    cosine: float
    line: int
    place: int
    text: str


def vector_of(word: str, line: LineVectors) -> Vectors:
    """The vector of a word of a line, (D,): of the first one, without case and marks.

    Raises:
        TranslationError: the line does not have it.
    """
    if rows := rows_of(word, line):
        return line.vectors[rows[0]]
    raise TranslationError(f"{line.text!r} has no word {word!r}; its words are: {', '.join(line.names)}")


def rows_of(word: str, line: LineVectors) -> list[int]:
    """The rows of all places of a word in a line, without case and marks."""
    (wanted,) = bare_words(word) or [""]
    return [row for row, name in enumerate(line.names) if bare_words(name) == [wanted]]


def nearest(vector: Vectors, found: Iterable[LineVectors], n: int, own: str) -> list[Neighbour]:
    """The `n` words with the largest cosine, the nearest one first. Of equal lines, only the first counts.

    Args:
        found: the words of a text.
        own: the line of the word itself, which is left out.
    """
    best: list[Neighbour] = []
    for number, line in enumerate(found):
        if line.text == own or not len(line.vectors):
            continue
        cosines = cosine(line.vectors, vector)
        for row in np.argsort(-cosines, kind="stable")[:n]:
            # Of two that are as near, the earlier line wins: its number is the larger one with a minus.
            near = Neighbour(float(cosines[row]), -number, int(line.places[row]), line.text)
            if len(best) == n and near <= best[0]:
                break
            if any(each.text == near.text and each.place == near.place for each in best):
                continue
            heapq.heappush(best, near)
            if len(best) > n:
                heapq.heappop(best)
    return [each._replace(line=-each.line) for each in sorted(best, reverse=True)]


def cosine(vectors: Vectors, vector: Vectors) -> Vectors:
    """The cosine of each of `vectors` (N, D) and `vector` (D,); 0 where one is all zeros."""
    lengths = np.linalg.norm(vectors, axis=-1) * np.linalg.norm(vector)
    found: Vectors = (vectors @ vector) / np.maximum(lengths, 1e-12)
    return found
