"""`python -m seq2seq corpus`: find, get and list, against a server of the tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seq2seq.cli import main
from seq2seq.corpus.named import opus
from tests.corpus.named.archives import tar
from tests.corpus.named.library import catalogue_file, publish
from tests.corpus.named.server import Server, serving

OPUS = "/opusapi/?source=en&target=fr&preprocessing=moses"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Two corpora: files as they are, and an archive."""
    for name in ("SEQ2SEQ_OFFLINE", "SEQ2SEQ_SHARED_CACHE", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        parts = {
            "en": publish(running, "/t.en", b"One.\n" * 2000),
            "fr": publish(running, "/t.fr", b"Un.\n" * 2000),
        }
        archive = publish(running, "/b.tgz", tar({"x.en": b"Two.\n" * 900, "x.fr": b"Deux.\n" * 900}, "gz"))
        corpora: dict[str, Any] = {
            "first": {
                "about": "numbers",
                "licence": "free",
                "parts": {"train": parts, "lost": {**parts, "fr": f"{running.url}/no"}},
            },
            "second": {"parts": {"train": {"archive": archive, "en": "x.en", "fr": "x.fr"}}},
        }
        monkeypatch.setattr(opus, "API", opus.API.replace("https://opus.nlpl.eu", running.url))
        own = catalogue_file(tmp_path, corpora)
        monkeypatch.setenv("SEQ2SEQ_CATALOGUE", str(own))
        monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path / "cache"))
        yield running


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(["corpus", *words])
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    """What it says on stdout, and its error."""
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", *words])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    return out, err.partition("error: ")[2]


def test_get_says_where_the_files_are_and_list_what_they_take(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *files = said(capsys, "get", "first/train").split()
    assert name == "corpus:first/train:" and [Path(file).name for file in files] == ["t.fr", "t.en"]
    said(capsys, "get", "second")
    first, second, whole = said(capsys, "list").splitlines()
    assert first == "first      18 kB  downloads 18 kB, unpacked 0 kB; licence: free"
    assert second.startswith("second      10 kB  downloads 0 kB, unpacked 10 kB; licence: not known")
    assert whole == f"28 kB in {tmp_path / 'cache/corpora'}"


def test_get_fetches_all_else_before_it_tells_what_it_cannot(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    out, error = refused(capsys, "get", "first", "second")
    assert [line.partition(": ")[0] for line in out.splitlines()] == ["corpus:first/train", "corpus:second/train"]
    assert error.startswith("first: cannot fetch no: ") and "404 Not Found" in error
    for words, message in (
        (("first", "thrid"), "corpus:thrid: there is no such corpus"),
        (("first/tran",), "do you mean train?"),
        (("first", "--languages", "de", "cs"), "corpus:first has no text in de and cs; `corpus find` lists what has"),
        (("first", "--languages", "fr", "fr"), "--languages fr fr: name two languages"),
    ):
        before = server.asked.copy()
        assert message in refused(capsys, "get", *words)[1] and server.asked == before


def test_get_offline_says_whether_all_is_there(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert "python -m seq2seq corpus get first" in refused(capsys, "get", "first/train", "--offline")[1]
    said(capsys, "get", "first/train")
    assert "t.fr" in said(capsys, "get", "first/train", "--offline")


def test_find_lists_all_kinds(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    corpora = [
        {"corpus": "Tatoeba", "version": "v2023-04-12", "alignment_pairs": 398012, "size": 12345},
        {"corpus": "\x1b[2JRude", "version": "v1"},
    ]
    server.files[OPUS] = json.dumps({"corpora": corpora}).encode()
    out = said(capsys, "find", "--languages", "fr", "en")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert lines["corpus:first"].endswith("18 kB  numbers; licence: free")
    assert lines["opus:Tatoeba/v2023-04-12"].endswith("12.3 MB  398,012 pairs")
    assert {"corpus:multi30k", "corpus:wmt14", "sacrebleu:wmt14/full", "sacrebleu:wmt13"} <= lines.keys()
    assert "sacrebleu:wmt18" not in lines  # has no French
    assert "opus:\\x1b[2JRude/v1" in lines and all(map(str.isprintable, out.splitlines()))
    found = said(capsys, "find", "OPUS", "tatoeba")
    assert found.split()[0] == "opus:Tatoeba/v2023-04-12" and found.count("\n") == 1


@pytest.mark.parametrize("answer", [b"<html>", b"{}", b'{"corpora": [{}]}', b'{"corpora": 3}'])
def test_find_goes_on_if_opus_answers_something_else(
    server: Server, capsys: pytest.CaptureFixture[str], answer: bytes
) -> None:
    server.files[OPUS] = answer
    main(["corpus", "find", "first"])
    out, err = capsys.readouterr()
    assert out.startswith("corpus:first") and "OPUS answers in another form than expected" in err


def test_find_offline_lists_what_needs_no_network(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQ2SEQ_OFFLINE", "1")
    main(["corpus", "find", "multi30k"])
    out, err = capsys.readouterr()
    assert out.startswith("corpus:multi30k") and "OPUS is not listed" in err and not server.asked
