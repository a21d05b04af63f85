"""SHA-256 of files that are remembered."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

from seq2seq.corpus.hashes import file_sha256
from seq2seq.dataset import file_digests
from seq2seq.dataset.file_digests import FileDigests

HOUR_NS = 3_600 * 10**9


@pytest.fixture
def n_reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read, in order."""
    read: list[Path] = []

    def counting(path: Path) -> str:
        read.append(path)
        return file_sha256(path)

    monkeypatch.setattr(file_digests, "file_sha256", counting)
    return read


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is ahead by an hour, so that no file is young."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + HOUR_NS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.fr"
    path.write_text("un chat\n")
    return path


def digest(cache: Path, file: Path) -> str:
    """As one start of a run asks for it."""
    digests = FileDigests(cache)
    found = digests.sha256(file)
    digests.save()
    return found


@pytest.mark.usefixtures("later")
def test_an_unchanged_file_is_read_once(tmp_path, file, n_reads):
    found = [digest(tmp_path / "cache", file) for _ in range(3)]
    assert found == [file_sha256(file)] * 3
    assert n_reads == [file]


def test_a_young_file_is_read_again(tmp_path, file, n_reads):
    """In the same tick of the clock, it could change once more."""
    for _ in range(3):
        digest(tmp_path / "cache", file)
    assert n_reads == [file] * 3
    assert not (tmp_path / "cache" / "digests.json").exists()


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("change", ["longer", "same size", "time set back", "replaced", "touched"])
def test_a_changed_file_is_read_again(tmp_path, file, n_reads, change):
    digest(tmp_path / "cache", file)
    before = file.stat()
    match change:
        case "longer":
            file.write_text("un chat noir\n")
        case "same size":
            file.write_text("un rat!\n")
        case "time set back":
            file.write_text("un rat!\n")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        case "replaced":
            other = tmp_path / "other"
            other.write_text("un rat!\n")
            os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
            other.replace(file)
        case "touched":
            os.utime(file, ns=(0, 0))
    assert digest(tmp_path / "cache", file) == file_sha256(file)
    assert n_reads == [file, file]


@pytest.mark.usefixtures("later")
def test_a_file_that_changes_while_it_is_read_is_not_remembered(tmp_path, file, monkeypatch):
    def slow(path: Path) -> str:
        found = file_sha256(path)
        path.write_text("un rat!\n")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(file_digests, "file_sha256", slow)
        digest(tmp_path / "cache", file)
    assert digest(tmp_path / "cache", file) == file_sha256(file)


@pytest.mark.usefixtures("later")
def test_a_damaged_memory_counts_as_empty(tmp_path, file, n_reads):
    digest(tmp_path / "cache", file)
    memory = tmp_path / "cache" / "digests.json"
    whole = memory.read_bytes()
    right = json.loads(whole)["files"][str(file)][-1]
    damaged = [b"", b"[]", b"{}", whole[:-9], whole.replace(right.encode(), b"0" * 64), b"\xff\xfe", b'{"sha256": 3}']
    damaged += [whole.replace(b'"version": 1', b'"version": 2')]
    for data in damaged:
        memory.write_bytes(data)
        assert digest(tmp_path / "cache", file) == right
    assert len(n_reads) == 1 + len(damaged)


@pytest.mark.usefixtures("later")
def test_what_two_processes_learn_is_kept_and_what_is_gone_is_not(tmp_path, file, n_reads):
    other = tmp_path / "corpus.en"
    other.write_text("a cat\n")
    first, second = FileDigests(tmp_path / "cache"), FileDigests(tmp_path / "cache")
    first.sha256(file)
    second.sha256(other)
    savers = [threading.Thread(target=each.save) for each in (first, second)]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    both = FileDigests(tmp_path / "cache")
    assert both.sha256(file) != both.sha256(other)
    assert sorted(n_reads) == sorted([file, other])
    other.unlink()
    file.write_text("un rat\n")
    digest(tmp_path / "cache", file)
    assert list(json.loads((tmp_path / "cache" / "digests.json").read_text())["files"]) == [str(file)]


@pytest.mark.usefixtures("later")
def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path, file):
    (tmp_path / "cache").write_text("a file where the directory should be")
    assert digest(tmp_path / "cache", file) == file_sha256(file)
