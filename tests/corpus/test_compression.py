import bz2
import gzip
import io
import lzma
import time

import pytest

from seq2seq.corpus.compression import open_binary, open_member, zstd

SUFFIXES = [".gz", ".xz", ".bz2", ".zst"]


def member(suffix: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with open_member(file, suffix) as stream:
        stream.write(data)
    assert not file.closed
    return file.getvalue()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_members_one_after_the_other_are_one_text(tmp_path, suffix):
    parts = [b"one\ntw", b"", b"o\n" * 70_000, "trois mêlés\n".encode()]
    path = tmp_path / f"a{suffix}"
    for n in range(1, len(parts) + 1):
        path.write_bytes(b"".join(member(suffix, part) for part in parts[:n]))
        with open_binary(path) as stream:
            assert stream.read() == b"".join(parts[:n])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_member_is_what_other_programs_read(suffix):
    read = {
        ".gz": gzip.decompress,
        ".xz": lzma.decompress,
        ".bz2": bz2.decompress,
        ".zst": zstd.decompress,
    }[suffix]
    assert read(member(suffix, b"a text of its own\n")) == b"a text of its own\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_bytes_make_the_same_member_at_any_time(suffix, monkeypatch):
    before = member(suffix, b"a text\n")
    monkeypatch.setattr(time, "time", lambda: 4e8)
    assert member(suffix, b"a text\n") == before


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_last_member_that_was_cut_off_is_an_error(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(member(suffix, b"one\n") + member(suffix, b"two\n")[:-3])
    with open_binary(path) as stream, pytest.raises((EOFError, OSError)):
        stream.read()


def test_zstandard_members_notice_a_flipped_bit(tmp_path):
    path = tmp_path / "a.zst"
    data = bytearray(member(".zst", b"abcdefghijklmnopqrstuvwxyz"))
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with open_binary(path) as stream, pytest.raises(zstd.ZstdError):
        stream.read()
