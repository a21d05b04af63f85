"""`hf:`: with the real library, on a dataset that lies here in a folder, as it may."""

import json
import sys
from pathlib import Path

import pytest

from seq2seq.config.sources import parse_sources
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.reader import read_pairs
from seq2seq.errors import CorpusError
from tests.corpus.named.library import settings

ROWS = [
    {"translation": {"fr": "Un chien.", "en": "A dog."}},
    {"translation": {"fr": "Deux\nchats.", "en": "Two cats."}},
]


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a dataset with the config `fr-en`, in this directory."""
    pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    monkeypatch.setattr("datasets.config.HF_DATASETS_OFFLINE", True)
    Path("mine").mkdir()
    for split, rows in (("train", ROWS), ("test", ROWS[:1])):
        (Path("mine") / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = "".join(f"  - split: {split}\n    path: {split}.jsonl\n" for split in ("train", "test"))
    (Path("mine") / "README.md").write_text(f"---\nconfigs:\n- config_name: fr-en\n  data_files:\n{files}---\n")
    return "hf:mine/fr-en"


def test_a_dataset_becomes_pairs_and_is_kept(dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings(tmp_path)
    (train,), (test,) = (
        fetch_sources(config, parse_sources("data.test", name)) for name in (dataset, f"{dataset}@test")
    )
    assert list(read_pairs(train)) == [("Un chien.", "A dog."), ("Deux chats.", "Two cats.")]
    assert list(read_pairs(test)) == [("Un chien.", "A dog.")]
    assert train.origin is not None and train.origin.licence == "see https://huggingface.co/datasets/mine"
    with pytest.raises(CorpusError, match=r"hf:mine/fr-en: row 0 has fr, en and not de and en; correct data.src_lang"):
        fetch_sources(settings(tmp_path, src_lang="de"), parse_sources("data.train", dataset))
    with pytest.raises(
        CorpusError, match=r"datasets cannot load 'mine' with the config 'cs-en' and the split 'train' \("
    ):
        fetch_sources(config, parse_sources("data.train", "hf:mine/cs-en"))
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert fetch_sources(config, parse_sources("data.train", dataset)) == [train]  # kept: nothing is loaded again


def test_without_the_library_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CorpusError, match=r"^hf:wmt14/fr-en needs .*: pip install 'datasets>=5.2'$"):
        fetch_sources(settings(tmp_path), parse_sources("data.train", "hf:wmt14/fr-en"))
    with pytest.raises(CorpusError, match="python -m seq2seq corpus get hf:wmt14/fr-en"):
        fetch_sources(settings(tmp_path, offline=True), parse_sources("data.train", "hf:wmt14/fr-en"))
