"""Vectors as a file for NumPy. Memory does not grow with them: rows wait on disk until their number is known.

An .npz holds

    vectors  (N, D)  float32 or float16, a row for each sentence, word or piece
    line     (N,)    int32, the line that a row belongs to, from 0
    place    (N,)    int32, which word or piece of that line it is, from 0

An .npy holds the vectors alone. `numpy.load(FILE, mmap_mode="r")` reads it without taking memory for all of it.
"""

import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from seq2seq.files import atomic_file
from seq2seq.inspection.vectors import LineVectors


class _Rows:
    """Rows of one type, on disk."""

    def __init__(self, folder: Path | None, dtype: str, *shape: int) -> None:
        """shape: of one row."""
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (it is gone with this object)
        self._n_rows = 0
        self._dtype, self._shape = np.dtype(dtype), shape

    def add(self, rows: npt.NDArray[Any]) -> None:
        self._file.write(rows.astype(self._dtype, order="C").tobytes())
        self._n_rows += len(rows)

    def copy_to(self, stream: IO[bytes]) -> None:
        """Write them in the format of .npy."""
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._n_rows, *self._shape),
        }
        np.lib.format.write_array_header_1_0(stream, header)
        self._file.seek(0)
        shutil.copyfileobj(self._file, stream)


def write_vectors(found: Iterable[LineVectors], width: int, output: Path | None, dtype: str) -> int:
    """Write all vectors, whole or not at all, and say how many there were.

    Args:
        width: numbers of each vector.
        output: ends in .npy for the vectors alone; None: an .npz on stdout.
        dtype: float32 or float16.
    """
    folder = output.absolute().parent if output else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    vectors, lines, places = _Rows(folder, dtype, width), _Rows(folder, "int32"), _Rows(folder, "int32")
    n_rows = 0
    for number, line in enumerate(found):
        vectors.add(line.vectors)
        lines.add(np.full(len(line.vectors), number))
        places.add(line.places)
        n_rows += len(line.vectors)
    with _opened(output) as stream:
        if output and output.suffix.lower() == ".npy":
            vectors.copy_to(stream)
        else:
            with zipfile.ZipFile(stream, "w") as archive:  # not compressed: such numbers hardly get smaller
                for name, rows in (("vectors", vectors), ("line", lines), ("place", places)):
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        rows.copy_to(member)
    return n_rows


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[bytes]]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_file(output) as file:
            yield file
