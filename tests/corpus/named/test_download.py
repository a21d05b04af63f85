"""One address to one file: what goes wrong on the way, and what is asked for again."""

import random
import resource
import shutil
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
import requests

from seq2seq.corpus.named.download import OtherBytes, Patience, download
from seq2seq.errors import CorpusError
from tests.corpus.named.library import IMPATIENT
from tests.corpus.named.server import Answering, Fault, Server, cut_after, dripping, endless, silent, status

TEXT = random.Random(0).randbytes(300_007)


@pytest.fixture
def server(server: Server) -> Server:
    server.files["/a.gz"] = TEXT
    return server


def fetched(server: Server, folder: Path, path: str = "/a.gz", patience: Patience = IMPATIENT) -> bytes:
    return download(server.url + path, folder / "partial", title="a.gz", patience=patience).read_bytes()


def begin(server: Server, folder: Path) -> None:
    """A download that is cut off."""
    server.faults["/a.gz"] = [cut_after(200_000)]
    with pytest.raises(CorpusError, match="the connection was cut after 200 kB, 1 times in a row"):
        fetched(server, folder, patience=Patience(attempts=1))


def test_a_cut_download_goes_on_where_it_was_cut(server: Server, tmp_path: Path) -> None:
    server.faults["/a.gz"] = [cut_after(200_000), cut_after(50_000)]
    assert fetched(server, tmp_path) == TEXT
    assert server.ranges["/a.gz"] == ["", "bytes=200000-", "bytes=250000-"]


def test_progress_resets_the_count_of_attempts(server: Server, tmp_path: Path) -> None:
    server.faults["/a.gz"] = [cut_after(40_000)] * 7  # more than the attempts in a row
    assert fetched(server, tmp_path) == TEXT


def test_a_few_bytes_are_no_progress(server: Server, tmp_path: Path) -> None:
    server.faults["/a.gz"] = [cut_after(100)] * 9
    with pytest.raises(CorpusError, match="after 0 kB, 3 times in a row"):
        fetched(server, tmp_path)


def test_without_a_validator_a_download_starts_anew(server: Server, tmp_path: Path) -> None:
    server.has_validators = False
    server.faults["/a.gz"] = [cut_after(1000)]
    assert fetched(server, tmp_path) == TEXT
    assert server.ranges["/a.gz"] == ["", ""]


def test_more_bytes_than_the_file_has_are_thrown_away(server: Server, tmp_path: Path) -> None:
    begin(server, tmp_path)
    with (tmp_path / "partial/content").open("ab") as file:
        file.write(b"x" * 400_000)
    assert fetched(server, tmp_path) == TEXT


@pytest.mark.parametrize("fault", [status(500), status(503, Retry_After="0")])
def test_a_passing_fault_is_tried_again(server: Server, tmp_path: Path, fault: Fault) -> None:
    server.faults["/a.gz"] = [fault]
    assert fetched(server, tmp_path, patience=Patience(attempts=2, wait_s=0.01)) == TEXT
    assert server.asked["/a.gz"] == 2


def test_a_server_that_says_nothing_is_left(server: Server, tmp_path: Path) -> None:
    server.faults["/a.gz"] = [silent] * 2
    with pytest.raises(CorpusError, match=r"no answer for 0.1 s, 2 times in a row"):
        fetched(server, tmp_path, patience=Patience(attempts=2, wait_s=0.01, silence_s=0.1))


def test_a_server_that_drips_is_left(server: Server, tmp_path: Path) -> None:
    server.faults["/a.gz"] = [dripping] * 2
    with pytest.raises(CorpusError, match=r"only \d+ bytes in 0.2 s, 2 times in a row"):
        fetched(server, tmp_path, patience=Patience(attempts=2, wait_s=0.01, silence_s=0.2, least=1000))


@pytest.mark.parametrize("fault", [endless(200), lambda answering, _: answering.give(bytes(5_000_000))])
def test_no_more_comes_than_was_promised(server: Server, tmp_path: Path, fault: Fault) -> None:
    server.faults["/a.gz"] = [fault]
    with pytest.raises(OtherBytes, match=r"/a.gz has more than the 1,000 bytes that were promised"):
        download(server.url + "/a.gz", tmp_path, title="a.gz", most=1000, patience=IMPATIENT)
    assert (tmp_path / "content").stat().st_size <= 1000


def test_what_a_server_says_is_no_command_to_the_terminal(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def rude(answering: Answering, _: bytes) -> None:
        code = 503 if server.asked["/a.gz"] == 1 else 404
        answering.wfile.write(b"HTTP/1.1 %d \x1b]0;title\x07\x9b2J\r\nContent-Length: 0\r\n\r\n" % code)

    server.faults["/a.gz"] = [rude] * 2
    with pytest.raises(CorpusError, match=r"the server answers 404 \\x1b\]0;title\\x07\\x9b2J, so the") as caught:
        fetched(server, tmp_path)
    assert str(caught.value).isprintable() and caplog.messages and all(map(str.isprintable, caplog.messages))
    server.faults["/a.gz"] = [status(302, Location="http://\x1b[2J.invalid/b.gz")] * 3
    with pytest.raises(CorpusError) as caught:
        fetched(server, tmp_path)
    assert str(caught.value).isprintable()


def test_redirects_are_followed_but_not_in_a_circle(server: Server, tmp_path: Path) -> None:
    server.files["/b.gz"] = TEXT
    server.faults["/a.gz"] = [endless(302, Location="/b.gz")]
    assert fetched(server, tmp_path) == TEXT and server.unread == {"/a.gz"}
    server.faults["/c.gz"] = [status(302, Location="/c.gz")] * 40
    with pytest.raises(CorpusError, match="leads in a circle of redirects; correct the address"):
        fetched(server, tmp_path, "/c.gz")


def test_without_a_network_one_sentence_says_so(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/a.gz"
        with pytest.raises(
            CorpusError, match=r"a.gz: no connection \(\[Errno \d+\] Connection refused\), 3 times in a row"
        ):
            download(address, tmp_path, title="a.gz", patience=IMPATIENT)


def test_a_proxy_that_refuses_is_named(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", server.url)  # which knows no CONNECT
    with pytest.raises(CorpusError, match=r"the proxy does not let this through \(.*501.*\); correct or unset \$HTTPS"):
        download("https://example.invalid/a.gz", tmp_path, title="a.gz", patience=IMPATIENT)


@pytest.mark.parametrize(
    ("proxy", "told"),
    [("socks5://127.0.0.1:9", r"the proxy is of SOCKS; pip install 'requests\[socks\]', or"), ("http://", "the proxy")],
)
def test_a_proxy_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str, told: str
) -> None:
    def without_pysocks(*_: object, **__: object) -> NoReturn:
        raise requests.exceptions.InvalidSchema("Missing dependencies for SOCKS support.")

    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setattr(requests.adapters, "SOCKSProxyManager", without_pysocks)
    with pytest.raises(CorpusError, match=told):
        download("https://example.invalid/a.gz", tmp_path, title="a.gz", patience=IMPATIENT)


def test_a_file_that_does_not_fit_is_not_begun(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=299_999))
    with pytest.raises(CorpusError, match=r"300 kB do not fit on the disk of .*, which has 300 kB free; make room, or"):
        fetched(server, tmp_path)
    assert not (tmp_path / "partial/content").exists()


def test_what_was_begun_of_a_file_that_has_changed_is_no_part_of_the_new_one(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if there is no room for the new one at first."""
    begin(server, tmp_path)
    server.files["/a.gz"] = changed = TEXT[::-1]
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
        with pytest.raises(CorpusError, match="do not fit on the disk"):
            fetched(server, tmp_path)
    assert fetched(server, tmp_path) == changed


def test_what_is_there_counts_when_space_is_looked_for(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(server, tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100_007))
    assert fetched(server, tmp_path) == TEXT


def test_a_disk_that_becomes_full_is_told_and_what_came_is_kept(server: Server, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))  # stands in for a full disk
    try:
        with pytest.raises(
            CorpusError, match=r"no room is left on the disk of .*; make room, or set data.cache_dir to"
        ):
            fetched(server, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert fetched(server, tmp_path) == TEXT
    assert server.ranges["/a.gz"][1].startswith("bytes=")


@pytest.mark.parametrize("url", ["http://[/a.gz", *(f"http://ann:S3{sign}cret@host/a.gz" for sign in "/?#")])
def test_an_address_that_is_none_is_told(tmp_path: Path, url: str) -> None:
    with pytest.raises(CorpusError, match="is not an address, or leads to none; correct it, and write %2F") as caught:
        download(url, tmp_path, title="a.gz", patience=IMPATIENT)
    assert "S3" not in str(caught.value) and "cret" not in str(caught.value)


def test_no_secret_is_told_if_nothing_answers(server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = server.url.replace("://", "://ann:S3c@ret@") + "/a.gz?token=S3cret"
    server.faults["/a.gz?token=S3cret"] = [status(503)] * 3
    with pytest.raises(CorpusError, match=r"http://\*\*\*@\S+/a.gz\?token=\*\*\*: the server answers 503") as caught:
        download(url, tmp_path, title="a.gz", patience=IMPATIENT)
    assert "S3c" not in str(caught.value) + caplog.text
