import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.cli import main
from seq2seq.corpus.compression import zstd
from seq2seq.corpus.reader import read_aligned, read_lines, read_pairs, read_references
from seq2seq.corpus.sources import Source
from seq2seq.errors import CorpusError
from tests.corpus.test_tables import refused

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstd.compress,
}
sentences = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"))
in_one_folder = settings(max_examples=20)


def write(path: Path, data: bytes | str) -> Path:
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(COMPRESS[path.suffix if path.suffix in COMPRESS else ""](data))
    return path


def paired(folder: Path, src: bytes | str, tgt: bytes | str) -> Source:
    return Source("lines", (write(folder / "a.fr", src), write(folder / "a.en", tgt)))


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@in_one_folder
@given(lines=st.lists(sentences, min_size=1))
def test_lines_come_back_as_written_after_a_byte_order_mark(tmp_path, suffix, end, lines):
    path = write(tmp_path / f"a{suffix}", "\ufeff" + "".join(line + end for line in lines))
    assert list(read_lines(path)) == lines


@in_one_folder
@given(pairs=st.lists(st.tuples(sentences, sentences), min_size=1))
def test_pairs_come_back_from_every_format(tmp_path, pairs):
    pairs = [(src.lstrip("\ufeff"), tgt.lstrip("\ufeff")) for src, tgt in pairs]
    files = paired(tmp_path, *("".join(side + "\n" for side in sides) for sides in zip(*pairs, strict=True)))
    assert list(read_pairs(files)) == pairs
    objects = (json.dumps({"en": tgt, "id": 7, "fr": src}) for src, tgt in pairs)
    jsonl = write(tmp_path / "a.jsonl", "\n".join(objects))
    assert list(read_pairs(Source("jsonl", (jsonl,), ("fr", "en")))) == pairs
    pairs = [(src.replace("\t", " "), tgt.replace("\t", " ")) for src, tgt in pairs]
    tsv = write(tmp_path / "a.tsv.gz", "".join(f"{tgt}\tCC-BY\t{src}\n" for src, tgt in pairs))
    assert list(read_pairs(Source("tsv", (tsv,), ("fr", "en"), ("en", "-", "fr")))) == pairs


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\u2028b\x0bc\x0cd\x85e\rf\x1cg\r\n\r\n b\x0c", ["a\u2028b\x0bc\x0cd\x85e\rf\x1cg", "", " b\x0c"]),
        ("a\r\r\nb\r", ["a\r", "b"]),  # one carriage return goes, and not two
        ("\ufeffa\n\ufeffb\n", ["a", "\ufeffb"]),  # a byte order mark goes at the start only
    ],
)
def test_only_line_feeds_end_a_line(text, lines):
    assert list(read_lines(io.BytesIO(text.encode()))) == lines


def test_lines_can_be_read_to_the_byte(tmp_path):
    text = b"\xef\xbb\xbfa\r\n\r\r\nb\r"
    lines = list(read_lines(write(tmp_path / "a", text), is_exact=True))
    assert lines == ["\ufeffa\r\n", "\r\r\n", "b\r"]
    assert "".join(lines).encode() == text


def test_a_long_compressed_file_crosses_every_buffer(tmp_path):
    lines = [f"{i} " + "x" * (i % 700) for i in range(9000)]
    assert list(read_lines(write(tmp_path / "a.zst", "\n".join(lines)))) == lines


def test_invalid_utf8_is_named_by_line_and_byte(tmp_path):
    path = write(tmp_path / "a.fr", b"bon\ncaf\xe9 noir\n")
    with pytest.raises(CorpusError) as caught:
        list(read_lines(path))
    assert str(caught.value).startswith(f"{path}:2: byte 4 of the line (0xe9) is not UTF-8; convert the text from")
    assert str(caught.value).endswith("WINDOWS-1251, GB18030 or SHIFT_JIS: iconv -f ENCODING -t UTF-8")


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_is_told_from_other_encodings(tmp_path, order):
    path = write(tmp_path / "a.fr", "\ufeffbon\n".encode(f"utf-16-{order}"))
    with pytest.raises(CorpusError, match=r"a.fr:1: is UTF-16, as Excel.*: iconv -f UTF-16 -t UTF-8"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_invalid_utf8_can_be_replaced_and_is_counted(tmp_path, suffix):
    path = write(tmp_path / f"a{suffix}", b"bon\ncaf\xe9 \xff noir\r\n\xef\xbf\xbd\n\xc3")
    replaced: list[int] = []
    lines = list(read_lines(path, errors="replace", on_replaced=replaced.append))
    assert lines == ["bon", "caf\ufffd \ufffd noir", "\ufffd", "\ufffd"]
    assert replaced == [2, 4]  # the third line held U+FFFD before
    assert list(read_lines(path, errors="replace")) == lines


def test_lines_of_a_stream_are_given_before_its_end():
    lines = read_lines(io.BytesIO(b"a\nb\n\xe9"))
    assert [next(lines), next(lines)] == ["a", "b"]


def test_a_stream_that_fails_is_named():
    class Failing(io.BytesIO):
        def readinto(self, buffer: object) -> int:
            raise OSError(5, "Input/output error")

    with pytest.raises(CorpusError, match="cannot read stdin: Input/output error; check"):
        list(read_lines(Failing()))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "foreign", "flipped"])
def test_a_damaged_file_is_an_error_not_a_short_corpus(tmp_path, suffix, damage):
    # Enough varied text that every format has something to lose.
    path = write(tmp_path / f"a{suffix}", "".join(f"{i * i * 7919 % 10007}\n" for i in range(3000)))
    data = path.read_bytes()
    middle = len(data) // 2
    if damage == "flipped" and suffix == ".zst":
        pytest.skip("zstd writes no checksum by default")
    flipped = data[:middle] + b"~~" + data[middle + 2 :]
    path.write_bytes({"cut": data[:-9], "foreign": b"plain text\n", "flipped": flipped}[damage])
    with pytest.raises(CorpusError, match=rf"a{suffix}.*(damaged or cut off after line \d+|not UTF-8).*; co"):
        list(read_lines(path))


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(CorpusError, match=rf"cannot read {path}: .*; check its name and permissions"):
            list(read_lines(path))


def test_further_references_are_the_lines_that_are_not_blank(tmp_path):
    source = paired(tmp_path, "a\nb\nc\n", "x\ny\nz\n")
    further = (write(tmp_path / "a.en.1", "x1\n\nz1\n"), write(tmp_path / "a.en.2", "x2\n \n\n"))
    assert list(read_references(source)) == [[], [], []]
    assert list(read_references(replace(source, references=further))) == [["x1", "x2"], [], ["z1"]]


@pytest.mark.parametrize("counts", [(2, 3), (5, 0), (3, 5, 3), (3, 3, 0), (1, 4, 4), (0, 0, 1)])
def test_of_files_that_are_not_aligned_the_first_odd_one_is_named(tmp_path, counts):
    files = [write(tmp_path / f"f{i}", "x\n" * count) for i, count in enumerate(counts)]
    odd = next(i for i, count in enumerate(counts) if count != counts[0])
    with pytest.raises(CorpusError) as caught:
        list(read_aligned(files))
    assert str(caught.value) == (
        f"{files[0]} has {counts[0]} lines but {files[odd]} has {counts[odd]}; line n of one must translate line n of "
        "the other, so align the files again"
    )


@pytest.mark.parametrize("line", ["only one", "a\tb\tc", ""])
def test_a_wrong_number_of_fields_is_named_by_line(tmp_path, line):
    path = write(tmp_path / "a.tsv", f"a\tb\n{line}\nc\td\n")
    message = refused(Source("tsv", (path,), ("fr", "en"), ("fr", "en")))
    n_fields = line.count("\t") + 1
    assert message.startswith(f":2: expected 2 tab-separated fields, found {n_fields} in {line!r}")
    assert "the languages of the columns (data.tsv_columns), where '-' skips one" in message


def test_hugging_face_translation_objects_are_understood(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"id": "0", "translation": {"en": "yes", "fr": "oui"}}\n')
    assert list(read_pairs(Source("jsonl", (path,), ("fr", "en")))) == [("oui", "yes")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("not json", "not a JSON object"),
        ("", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ("[1]", "expected an object with a string under 'fr', found [1]"),
        ('{"fr": "a", "de": "b"}', "expected an object with a string under 'en', found {'fr': 'a', 'de': 'b'}"),
        ('{"fr": 3, "en": "b"}', "expected an object with a string under 'fr'"),
        ('{"fr": "a\\nb", "en": "b"}', "the text under 'fr' has a line break"),
        ('{"fr": "a", "en": "\\ud800"}', "the text under 'en' has half a surrogate pair"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path, line, problem):
    path = write(tmp_path / "a.jsonl", '{"fr": "a", "en": "b"}\n' + line + "\n")
    assert refused(Source("jsonl", (path,), ("fr", "en"))).startswith(f":2: {problem}")


def test_a_sentence_of_json_may_have_what_one_of_a_plain_file_may(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"fr": "a\\rb", "en": "b"}\n')
    assert list(read_pairs(Source("jsonl", (path,), ("fr", "en")))) == [("a\rb", "b")]


@pytest.mark.parametrize("kinds", ["upper", "typos,emoji", "join,numbers", "stop,join3"])
def test_a_source_augmented_rows_reads_as_the_command_writes_it(tmp_path, kinds):
    src = write(tmp_path / "a.fr", "Il pleut.\nÇa va, Léa ?\n\nOui.\n")
    tgt = write(tmp_path / "a.en", "It rains.\nAll well, Léa?\n\nYes.\n")
    further = write(tmp_path / "a.en.1", "\nHow are you, Léa?\n\n\n"), write(tmp_path / "a.en.2", "Rain.\n\n\nSure.\n")
    outputs = [tmp_path / f"out.{number}" for number in range(4)]
    main(["corpus", "augment", *map(str, (src, tgt, *further)), "--as", kinds, "--output", *map(str, outputs)])
    rows = list(read_aligned(outputs))
    source = Source("lines", (src, tgt), references=further, augmentations=tuple(kinds.split(",")))
    assert list(read_pairs(source)) == [(src, tgt) for src, tgt, *_ in rows]
    assert list(read_references(source)) == [[text for text in row[2:] if text] for row in rows]


def test_other_forms_have_augmentations_too(tmp_path):
    jsonl = write(tmp_path / "a.jsonl", json.dumps({"fr": "Oui.", "en": "Yes."}))
    source = Source("jsonl", (jsonl,), ("fr", "en"), augmentations=("upper", "stop"))
    assert list(read_pairs(source)) == [("OUI", "YES.")]
    assert list(read_references(source)) == [[]]
