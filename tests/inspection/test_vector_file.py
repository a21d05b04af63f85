"""Files of vectors, as NumPy reads them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from seq2seq.inspection.vector_file import write_vectors
from seq2seq.inspection.vectors import LineVectors

VECTORS = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)


def line(text: str, first: int, end: int) -> LineVectors:
    places = np.arange(end - first, dtype=np.int32)
    return LineVectors(text, text.split(), places, VECTORS[first:end])


LINES = [line("a b c", 0, 3), line("", 3, 3), line("d", 3, 4), line("e f", 4, 6)]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_npz_says_of_each_row_where_it_is_from(dtype: str, tmp_path: Path) -> None:
    file = tmp_path / "v.npz"
    assert write_vectors(iter(LINES), 5, file, dtype) == 6
    with np.load(file) as found:
        np.testing.assert_array_equal(found["vectors"], VECTORS.astype(dtype))
        assert found["line"].tolist() == [0, 0, 0, 2, 3, 3]
        assert found["place"].tolist() == [0, 1, 2, 0, 0, 1]
    assert list(tmp_path.iterdir()) == [file]


def test_an_npy_can_be_mapped_into_memory(tmp_path: Path) -> None:
    write_vectors(LINES, 5, tmp_path / "v.npy", "float16")
    found = np.load(tmp_path / "v.npy", mmap_mode="r")
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, VECTORS.astype(np.float16))


def test_text_without_lines_gives_a_file_without_rows(tmp_path: Path) -> None:
    assert write_vectors([], 5, tmp_path / "v.npz", "float16") == 0
    with np.load(tmp_path / "v.npz") as found:
        assert {name: (rows.shape, str(rows.dtype)) for name, rows in found.items()} == {
            "vectors": ((0, 5), "float16"),
            "line": ((0,), "int32"),
            "place": ((0,), "int32"),
        }


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> Iterator[LineVectors]:
        yield LINES[0]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        write_vectors(broken(), 5, tmp_path / "v.npz", "float32")
    assert not list(tmp_path.iterdir())
