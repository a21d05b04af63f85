"""`mtdata:`: what its program prints becomes two files, and what it says of an error a sentence."""

import os
from pathlib import Path

import pytest

from seq2seq.config.sources import parse_sources
from seq2seq.corpus.named import mtdata
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.reader import read_pairs
from seq2seq.errors import CorpusError
from tests.corpus.named.library import settings
from tests.corpus.named.server import Server

NAME = "mtdata:Statmt-europarl-10-eng-fra"
# What mtdata 0.5.1 prints; it is not installed where the tests run.
PROGRAM = """#!/bin/sh
case "$*" in
  "-no-pb echo Statmt-europarl-10-eng-fra")
    echo "INFO     Total rows=2" >&2
    printf 'A dog.\\tUn chien.\\nTwo cats.\\tDeux chats.\\n' ;;
  "-no-pb echo Statmt-bad-1-eng-fra")
    printf 'A dog.\\n' ;;
  "list -l fra-eng")
    printf 'Statmt-europarl-10-fra-eng\\thttp://www.statmt.org/e.tsv.gz\\t\\n' ;;
  *) echo "Traceback" >&2; echo "AssertionError: no such dataset" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    path = tmp_path / "bin/mtdata"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    return path


def test_a_dataset_becomes_pairs_in_the_direction_of_the_run(program: Path, server: Server, tmp_path: Path) -> None:
    config = settings(tmp_path, server)
    (source,) = fetch_sources(config, parse_sources("data.train", NAME))
    assert list(read_pairs(source)) == [("Un chien.", "A dog."), ("Deux chats.", "Two cats.")]
    assert sorted(path.name for path in source.files[0].parent.iterdir()) == ["made.json", "text.eng", "text.fra"]
    program.unlink()
    back = settings(tmp_path, server, src_lang="eng", tgt_lang="fra")
    (source,) = fetch_sources(back, parse_sources("data.train", NAME))
    assert next(read_pairs(source)) == ("A dog.", "Un chien.")


def test_what_mtdata_cannot_give_is_told(program: Path, server: Server, tmp_path: Path) -> None:
    config = settings(tmp_path, server)
    with pytest.raises(CorpusError) as caught:
        fetch_sources(config, parse_sources("data.train", "mtdata:Statmt-none-1-eng-fra"))
    assert str(caught.value) == (
        "mtdata:Statmt-none-1-eng-fra: `mtdata -no-pb echo Statmt-none-1-eng-fra` ended with 1 after 0 pairs "
        "(AssertionError: no such dataset); `mtdata list` has the IDs, and 0.5.1 is the version that was tried"
    )
    with pytest.raises(CorpusError, match=r"Statmt-bad-1-eng-fra: pair 1 has one side only"):
        fetch_sources(config, parse_sources("data.train", "mtdata:Statmt-bad-1-eng-fra"))
    assert not list((tmp_path / "cache").rglob("text.*"))


def test_without_the_program_its_installation_is_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CorpusError, match=r"needs the program mtdata; install it with: pipx install mtdata"):
        fetch_sources(settings(tmp_path, server), parse_sources("data.train", NAME))


def test_its_index_is_listed(program: Path) -> None:
    assert mtdata.ids_for(("fr", "en")) == [("Statmt-europarl-10-fra-eng", "http://www.statmt.org/e.tsv.gz")]
