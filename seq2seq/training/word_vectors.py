"""Embeddings that start from vectors of words that others have trained.

Shapes: N subwords that are words of a file, W width of its vectors, D d_model, V vocabulary
"""

import logging
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seq2seq.config import RunConfig
from seq2seq.corpus.word_vectors import Vectors, read_word_vectors
from seq2seq.errors import ConfigError
from seq2seq.model.embeddings import Embeddings
from seq2seq.tokenizer import SPACE, Tokenizer

KEYS = ("src_vectors", "tgt_vectors")

log = logging.getLogger(__name__)


def check_files(config: RunConfig) -> None:
    """Before any work, see that the files are there.

    Raises:
        ConfigError: one is not.
    """
    for key in KEYS:
        if (path := getattr(config, key)) and not Path(path).is_file():
            raise ConfigError(f"{key}={path} is no file; give a text file of word vectors (.vec, .txt)")


def start_from_vectors(embeddings: Embeddings, tokenizer: Tokenizer, config: RunConfig) -> None:
    """Give each subword that is a whole word the vector of this word. The others stay random.

    `src_vectors` is for the table of the source, `tgt_vectors` for that of the target. If they share a table, a word of
    both languages gets the mean. The numbers are scaled as random ones are, to a variance of 1/D.

    Raises:
        ConfigError: a file has no subword of this vocabulary, or its vectors do not fit.
        CorpusError: a file cannot be read, or is not one of vectors.
    """
    words = {piece[len(SPACE) :]: id_ for piece, (id_, _) in tokenizer.subwords().items() if piece.startswith(SPACE)}
    of_tables: dict[Tensor, list[Vectors]] = {}
    for key, table in zip(KEYS, (embeddings.source, embeddings.target), strict=True):
        if path := getattr(config, key):
            of_tables.setdefault(table, []).append(_fitting(key, Path(path), words, table.size(1)))
            log.info("%s of %s subwords start from %s", f"{len(of_tables[table][-1]):,}", f"{len(table):,}", path)
    for table, files in of_tables.items():
        if len({next(iter(vectors.values())).size for vectors in files}) > 1:
            raise ConfigError(
                "src_vectors and tgt_vectors have vectors of different widths for the one table of both languages; "
                "give vectors of one space, or set model.embeddings=separate"
            )
        found = {word: np.mean([v[word] for v in files if word in v], 0) for word in set().union(*files)}
        names = sorted(found)
        rows = _scaled(_narrowed(np.stack([found[name] for name in names]), table.size(1)))
        with torch.no_grad():
            table[[words[name] for name in names]] = torch.from_numpy(rows).to(table)


def _fitting(key: str, path: Path, words: dict[str, int], d_model: int) -> Vectors:
    vectors = read_word_vectors(path, words)
    if len(vectors) < 2:
        raise ConfigError(
            f"{key}={path} has {len(vectors)} of the {len(words):,} subwords that are words; give vectors of the "
            "language of the text"
        )
    if (width := next(iter(vectors.values())).size) < d_model:
        raise ConfigError(
            f"{key}={path} has vectors of {width} numbers for model.d_model={d_model}; choose a d_model "
            "that is no larger"
        )
    return vectors


def _narrowed(vectors: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.float32]:
    """(N, W) -> (N, D), without their mean: the directions in which they differ most (PCA)."""
    vectors = vectors - vectors.mean(0)
    if vectors.shape[1] == width:
        return vectors
    _, directions = np.linalg.eigh(vectors.T @ vectors)  # ascending
    narrowed: npt.NDArray[np.float32] = vectors @ directions[:, ::-1][:, :width]
    return narrowed


def _scaled(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(N, D) with a variance of 1/D, as random embeddings have it."""
    spread = max(vectors.std(), np.finfo(np.float32).tiny)  # words with the same vector have none
    scaled: npt.NDArray[np.float32] = vectors / (spread * np.sqrt(vectors.shape[1]))
    return scaled
