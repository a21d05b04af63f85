"""What is kept of downloads: checked, recorded, shared between processes, and never half-written."""

import errno
import json
import logging
import multiprocessing
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from seq2seq.corpus.named.catalogue import Download
from seq2seq.corpus.named.download import Patience
from seq2seq.corpus.named.library import locked
from seq2seq.errors import CorpusError
from tests.corpus.named.library import library_of, publish
from tests.corpus.named.server import Server, cut_after, slow, status

PATH = "/text/a.tsv.gz"
TEXT = b"never mind what\n" * 1000


def pinned(server: Server, content: bytes = TEXT, **more: Any) -> Download:
    return Download(**publish(server, PATH, content), **more)


def test_a_download_is_made_once_and_noted(server: Server, tmp_path: Path) -> None:
    library = library_of(tmp_path)
    wanted = pinned(server)
    path = library.download(wanted, "mine")
    assert path.name == "a.tsv.gz" and path.read_bytes() == TEXT
    assert library.download(wanted, "mine") == path
    assert server.asked[PATH] == 1
    (kept,) = library.kept()
    assert (kept.corpus, kept.size, kept.files) == ("mine", len(TEXT), {})
    assert kept.url == json.loads((path.parent / "download.json").read_bytes())["from"] == server.url + PATH
    assert not [*library.root.glob("partial/*")]


def test_wrong_bytes_are_refused_and_leave_nothing(server: Server, tmp_path: Path) -> None:
    library = library_of(tmp_path)
    wanted = pinned(server)
    server.files[PATH] = b"<html>log in</html>"
    with pytest.raises(CorpusError) as caught:
        library.download(wanted, "mine")
    assert str(caught.value).startswith(f"mine: cannot fetch a.tsv.gz: {server.url}{PATH} has 0 kB with the SHA-")
    assert f"and {wanted.sha256[:12]}… was promised" in str(caught.value)
    assert str(caught.value).endswith("or set data.dir to a directory that has the files")
    assert not library.kept() and not [*library.root.glob("partial/*")]
    server.files[PATH] = TEXT
    assert library.download(wanted, "mine").read_bytes() == TEXT


def test_a_wrong_rest_of_a_cut_download_costs_one_more_attempt(server: Server, tmp_path: Path) -> None:
    wanted = pinned(server)
    server.faults[PATH] = [cut_after(1000)]
    with pytest.raises(CorpusError):
        library_of(tmp_path, patience=Patience(attempts=1)).download(wanted, "mine")
    library = library_of(tmp_path)
    (content,) = library.root.glob("partial/*/content")
    assert content.stat().st_size == 1000
    content.write_bytes(b"x" * 1000)
    assert library.download(wanted, "mine").read_bytes() == TEXT
    assert server.ranges[PATH] == ["", "bytes=1000-", ""]


def test_a_mirror_is_asked_after_the_first_address(server: Server, tmp_path: Path) -> None:
    wanted = pinned(server, mirrors=(f"{server.url}/mirror",))
    server.files["/mirror"] = server.files.pop(PATH)
    assert library_of(tmp_path).download(wanted, "mine").read_bytes() == TEXT
    assert server.asked == {PATH: 1, "/mirror": 1}


def test_the_problem_of_each_mirror_is_told(server: Server, tmp_path: Path) -> None:
    wanted = pinned(server, mirrors=(f"{server.url}/mirror",))
    server.faults[PATH] = [status(500)] * 3
    with pytest.raises(CorpusError) as caught:
        library_of(tmp_path).download(wanted, "mine")
    assert "answers 500 Internal Server Error, 3 times in a row; " in str(caught.value)
    assert "answers 404 Not Found, so the publisher may have moved the file. Try again later" in str(caught.value)


def test_an_address_that_was_kept_without_its_secret_means_the_download_that_has_it(
    server: Server, tmp_path: Path
) -> None:
    library, kept = library_of(tmp_path), Download(f"{server.url}/get?token=***")
    with pytest.raises(
        CorpusError, match=r"mine: \*\*\* stands for a secret .* has no downloads of this address; give"
    ):
        library.download(kept, "mine")
    first, second = (Download(**publish(server, f"/get?token=S3cret{n}", TEXT * n)) for n in (1, 2))
    path = library.download(first, "mine")
    offline = library_of(tmp_path, offline=True)
    assert offline.download(kept, "mine") == path
    assert library.download(second, "mine") != path  # another address, and not other bytes of the first one
    with pytest.raises(CorpusError, match="has 2 downloads of this address"):
        library.download(kept, "mine")
    noted = [file for file in library.root.rglob("*") if file.is_file()]
    assert not [file for file in noted if "S3cret" in str(file) or b"S3cret" in file.read_bytes()]


def test_offline_names_the_command_that_fetches(server: Server, tmp_path: Path) -> None:
    wanted = pinned(server)
    offline = library_of(tmp_path, offline=True)
    with pytest.raises(CorpusError) as caught:
        offline.download(wanted, "mine")
    assert str(caught.value) == (
        f"mine: not in {tmp_path / 'cache/corpora'}, and it is not fetched (data.offline, $SEQ2SEQ_OFFLINE, or a "
        "command that never fetches); where there is a network, run: python -m seq2seq corpus get mine"
    )
    with pytest.raises(CorpusError, match=r"corpus get mine --languages de en$"):
        replace(offline, languages=("de", "en")).download(wanted, "mine")
    path = library_of(tmp_path).download(wanted, "mine")
    assert offline.download(wanted, "mine") == path


def test_the_environment_makes_a_library_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value, is_offline in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("SEQ2SEQ_OFFLINE", value)
        assert library_of(tmp_path).is_offline == is_offline


def test_a_shared_cache_is_read_and_not_written(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = pinned(server)
    (tmp_path / "shared").mkdir()
    first = library_of(tmp_path / "shared")
    there = first.download(wanted, "mine")
    before = sorted((tmp_path / "shared").rglob("*"))
    for path in before:
        if path.is_dir():
            path.chmod(0o555)
    try:
        library = library_of(tmp_path, shared_cache=str(tmp_path / "shared/cache"), offline=True)
        assert library.download(wanted, "mine") == there
        monkeypatch.chdir(tmp_path)
        assert library_of(tmp_path, shared_cache="shared/cache", offline=True).download(wanted, "mine") == there
        # What the catalogue names now is not what the shared cache has.
        other = Download(**publish(server, PATH, TEXT * 2))
        online = library_of(tmp_path, shared_cache=str(tmp_path / "shared/cache"))
        assert online.download(other, "mine").read_bytes() == TEXT * 2
        assert there.read_bytes() == TEXT and sorted((tmp_path / "shared").rglob("*")) == before
    finally:
        for path in before:
            if path.is_dir():
                path.chmod(0o755)


def test_a_damaged_download_is_fetched_again(server: Server, tmp_path: Path) -> None:
    library = library_of(tmp_path)
    wanted = pinned(server)
    path = library.download(wanted, "mine")
    path.write_bytes(TEXT[:-1])
    assert library.download(wanted, "mine").read_bytes() == TEXT


@pytest.mark.parametrize(
    ("known", "message"),
    [({"md5": "0" * 32}, "and not the MD5 0000"), ({"size": 20_000}, "20,000 bytes were promised instead of 16,000")],
)
def test_the_md5_and_the_size_are_compared(server: Server, tmp_path: Path, known: dict[str, Any], message: str) -> None:
    server.files[PATH] = TEXT
    with pytest.raises(CorpusError, match=message):
        library_of(tmp_path).download(Download(server.url + PATH, **known), "sacrebleu:x")


def _download(folder: Path, url: str, ready: Any) -> None:
    ready.wait(60)
    library_of(folder).download(Download(url + PATH), "mine")


def test_processes_that_want_the_same_share_one_download(server: Server, tmp_path: Path) -> None:
    server.files[PATH] = TEXT
    server.faults[PATH] = [slow(0.3)]
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(3)
    workers = [context.Process(target=_download, args=(tmp_path, server.url, ready)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert server.asked[PATH] == 1


def test_a_disk_without_locks_is_told_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with locked(tmp_path / "x.lock"):
        assert "x.lock cannot be locked (No locks available); others may do" in caplog.text


def test_who_waits_for_the_download_of_another_process_says_so(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.files[PATH] = TEXT
    server.faults[PATH] = [slow(1)]
    context = multiprocessing.get_context("fork")
    other = context.Process(target=_download, args=(tmp_path, server.url, context.Barrier(1)))
    other.start()
    while other.is_alive() and not server.asked[PATH]:
        time.sleep(0.01)
    _download(tmp_path, server.url, context.Barrier(1))
    other.join(120)
    assert "another process is at work on the same text; waiting for it (" in caplog.text
    assert server.asked[PATH] == 1


def test_a_cache_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(
        CorpusError, match=r"cannot keep fetched text under .*/cache/corpora: .*; set data.cache_dir to"
    ):
        library_of(tmp_path).download(pinned(server), "mine")


def test_what_is_made_is_made_once_and_whole(tmp_path: Path) -> None:
    library = library_of(tmp_path)
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "a.fr").write_text("un\n")
        if len(made) == 1:
            raise CorpusError("stopped")

    with pytest.raises(CorpusError, match="stopped"):
        library.made("mine", {"a": 1}, "free", make)
    assert not library.kept()
    folder = library.made("mine", {"a": 1}, "free", make)
    assert library.made("mine", {"a": 1}, "free", make) == folder and len(made) == 2
    assert (folder / "a.fr").read_text() == "un\n"
    assert library.made("mine", {"a": 2}, "free", make) != folder
    (folder / "a.fr").write_text("un peu")
    assert (library.made("mine", {"a": 1}, "free", make) / "a.fr").read_text() == "un\n"
    assert all(kept.files for kept in library.kept())


def test_a_cut_by_a_full_disk_is_told(tmp_path: Path) -> None:
    library = library_of(tmp_path)

    def make(folder: Path) -> None:
        raise OSError(28, os.strerror(28))

    with pytest.raises(CorpusError, match=r"cannot be unpacked under .* \(No space left on device\); make room there"):
        library.made("mine", {}, "", make)
