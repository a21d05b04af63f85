"""A corpus source in blocks is the source, whichever blocks are read; a sample is spread over it, always the same."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.blocks import BlockReader, Cut, sampled_pairs
from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import Source
from seq2seq.errors import CorpusError

LINES = st.lists(
    st.one_of(st.just(""), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t"), max_size=9)),
    min_size=1,
    max_size=23,
)


def written(folder: Path, form: str, lines: list[str]) -> Source:
    """The lines and the same in reverse order, with a byte order mark in a file, and no last line end in the other."""
    src, tgt = lines, lines[::-1]
    if form == "tsv":
        rows = "\n".join("\t".join(pair) for pair in zip(src, tgt, strict=True))
        (folder / "text.tsv").write_bytes(b"\xef\xbb\xbf" + rows.encode())
        return Source("tsv", (folder / "text.tsv",), ("fr", "en"), ("fr", "en"))
    (folder / "text.fr.gz").write_bytes(gzip.compress("".join(f"{line}\r\n" for line in src).encode()))
    (folder / "text.en").write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\n" for line in tgt).encode())
    return Source("lines", (folder / "text.fr.gz", folder / "text.en"))


@given(lines=LINES, size=st.integers(1, 7), form=st.sampled_from(["lines", "tsv"]), data=st.data())
def test_blocks_are_the_pairs_of_the_source(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int, form: str, data: st.DataObject
) -> None:
    source = written(tmp_path_factory.mktemp("source"), form, lines)
    pairs = list(read_pairs(source))
    cut = Cut.of(source, size)
    assert cut.n_pairs == len(pairs)
    chosen = data.draw(st.lists(st.integers(0, cut.n_blocks - 1), unique=True).map(sorted))
    with BlockReader(cut) as reader:
        for number in chosen:
            block = reader.read(number)
            assert block == pairs[number * size : (number + 1) * size]
            assert cut.size_of(number) == len(block)


@pytest.mark.parametrize("n_more", [1, 3, -1, -3])
@pytest.mark.parametrize("size", [2, 5])
def test_files_of_different_lengths_are_named_with_both_lengths(tmp_path: Path, n_more: int, size: int) -> None:
    source = Source("lines", (tmp_path / "a", tmp_path / "b"))
    source.paths[0].write_text("x\n" * 10)
    source.paths[1].write_text("x\n" * (10 + n_more))
    message = f"a has 10 lines but .*b has {10 + n_more}; line n of one"
    with pytest.raises(CorpusError, match=message), BlockReader(Cut.of(source, size)) as reader:
        list(map(reader.read, range(10 // size)))
    with pytest.raises(CorpusError, match=message), BlockReader(Cut.of(source, size)) as reader:
        reader.read(10 // size - 1)


def test_a_line_is_named_by_its_number_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("a\tb\n" * 7 + "a\n" + "a\tb\n")
    with (
        pytest.raises(CorpusError, match=r"text\.tsv:8: expected 2 tab-separated fields"),
        BlockReader(Cut.of(Source("tsv", (tmp_path / "text.tsv",), ("fr", "en"), ("fr", "en")), 3)) as reader,
    ):
        reader.read(2)
    (tmp_path / "text.jsonl").write_bytes(b'{"a": "x", "b": "y"}\n' * 7 + b"\xff\n")
    with (
        pytest.raises(CorpusError, match=r"text\.jsonl:8: byte 1 of the line"),
        BlockReader(Cut.of(Source("jsonl", (tmp_path / "text.jsonl",), ("a", "b")), 1)) as reader,
    ):
        reader.read(7)


def test_damage_in_lines_that_are_passed_over_is_told(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"%d\n" % (i * i) for i in range(9_000)))
    (tmp_path / "a.gz").write_bytes(whole)
    (tmp_path / "b.gz").write_bytes(whole[:-2000])
    with (
        pytest.raises(CorpusError, match=r"b\.gz: damaged or cut off after line \d\d+"),
        BlockReader(Cut.of(Source("lines", (tmp_path / "a.gz", tmp_path / "b.gz")), 1_000)) as reader,
    ):
        reader.read(8)


def test_a_file_that_grew_meanwhile_is_named(tmp_path: Path) -> None:
    source = Source("lines", (tmp_path / "a", tmp_path / "b"))
    for file in source.files:
        file.write_text("x\n" * 10)
    cut = Cut.of(source, 5)
    for file in source.files:
        file.write_text("x\n" * 11)
    with pytest.raises(CorpusError, match="changed while the text was prepared"), BlockReader(cut) as reader:
        reader.read(1)


def test_an_empty_source_is_refused(tmp_path: Path) -> None:
    source = Source("lines", (tmp_path / "a", tmp_path / "b"))
    for file in source.files:
        file.touch()
    with pytest.raises(CorpusError, match=r"no sentence pair in .*a and .*b; the corpus is empty"):
        Cut.of(source, 5)


@pytest.mark.parametrize(("most", "n"), [(1, 1), (7, 7), (24, 24), (100, 24)])
def test_a_sample_has_a_pair_of_each_stretch(tmp_path: Path, most: int, n: int) -> None:
    sources = []
    for name, size in (("one", 13), ("two", 1), ("three", 10)):
        (tmp_path / name).mkdir()
        sources.append(written(tmp_path / name, "lines", [f"{name} {i}" for i in range(size)]))
    pairs = [pair for source in sources for pair in read_pairs(source)]
    found = list(sampled_pairs(sources, most))
    places = list(map(pairs.index, found))
    assert len(places) == n
    assert all(k * 24 // n <= place < (k + 1) * 24 // n for k, place in enumerate(places))
    assert found == list(sampled_pairs(sources, most))
