"""Text by name is the same text: its stores are those of the files, and its damage is noticed."""

from pathlib import Path

import pytest

from seq2seq.corpus.report import render
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import CorpusError
from tests.corpus.named.library import catalogue_file, publish
from tests.corpus.named.server import serving
from tests.dataset.small_corpus import stores, tokenizers


def test_a_name_and_a_directory_with_the_same_files_share_the_stores(config, corpus, tmp_path):
    plain = prepare(config).report["splits"]["train"]
    before = stores(tmp_path), tokenizers(tmp_path)
    with serving() as server:
        parts: dict[str, dict] = {}
        for split in ("train", "valid", "test"):
            files = {language: corpus / f"{split}.{language}" for language in ("fr", "en")}
            parts[split] = {lang: publish(server, f"/{f.name}", f.read_bytes()) for lang, f in files.items()}
        corpora = {"mine": {"licence": "free for all", "parts": parts}}
        config.data.catalogue = str(catalogue_file(tmp_path, corpora))
        config.data.dir = "corpus:mine"
        named = prepare(config).report
    assert (stores(tmp_path), tokenizers(tmp_path)) == before
    train = named["splits"]["train"]
    assert list(train["files"].values()) == list(plain["files"].values()) and "origins" not in plain
    assert train["origins"] == [{"name": "corpus:mine/train", "licence": "free for all"}]
    assert "  from corpus:mine/train (licence: free for all)\n" in render(named)
    config.data.offline = True
    file = next(Path(name) for name in train["files"])
    content = file.read_bytes()
    file.write_bytes(content[:-2] + b"~\n")
    with pytest.raises(CorpusError, match=rf"^{file}: has changed since it was fetched; remove it, and start again"):
        prepare(config)
