"""`python -m seq2seq prepare` takes the words of a run, fills its cache, and makes no run."""

import logging
from pathlib import Path

import pytest

from seq2seq.cli import main
from seq2seq.dataset.store import PairStore
from tests.training.tiny_runs import arguments, write_corpus


def prepare(tmp_path: Path, *words: str) -> None:
    changes = {"data.cache_dir": str(tmp_path / "cache")}
    main(["prepare", *words, *arguments(tmp_path / "corpus", tmp_path / "run", changes)])


def test_it_fills_the_cache_and_makes_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    write_corpus(tmp_path / "corpus")
    with caplog.at_level(logging.INFO):
        prepare(tmp_path)
    store = PairStore.open(capsys.readouterr().out.strip())
    assert len(store) > 0 and store.directory.is_relative_to(tmp_path / "cache/stores")
    assert "data report" in caplog.text
    assert not (tmp_path / "run").exists()


def test_words_of_no_single_new_run_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path / "corpus")
    with pytest.raises(SystemExit, match="2"):
        prepare(tmp_path, "-m", "seed=1,2")
    assert "prepare is for one run; leave -m out, and give each key one value" in capsys.readouterr().err
    prepare(tmp_path, "--cfg", "job")
    assert "n_workers: 0" in capsys.readouterr().out
    assert not (tmp_path / "cache").exists()
