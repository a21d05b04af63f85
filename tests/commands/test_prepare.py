"""`python -m seq2seq prepare` takes the words of a run, fills its cache, and makes no run."""

import os
import subprocess
from pathlib import Path

import pytest

from seq2seq.dataset.store import PairStore
from tests.processes import run_fresh
from tests.training.tiny_runs import arguments, write_corpus

pytestmark = pytest.mark.slow


def prepare(tmp_path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    changes = {"data.cache_dir": str(tmp_path / "cache")}
    words = (*words, *arguments(tmp_path / "corpus", tmp_path / "run", changes))
    return run_fresh(["-m", "seq2seq", "prepare", *words], env=os.environ, timeout=120)


def test_it_fills_the_cache_and_makes_no_run(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus")
    done = prepare(tmp_path)
    assert done.returncode == 0, done.stderr
    store = PairStore.open(done.stdout.strip())
    assert len(store) > 0 and store.directory.is_relative_to(tmp_path / "cache/stores")
    assert "data report" in done.stderr
    assert not (tmp_path / "run").exists()


def test_words_of_no_single_new_run_are_refused(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus")
    refused = prepare(tmp_path, "-m", "seed=1,2")
    assert refused.returncode == 2
    assert "the words must describe one new run" in refused.stderr
    shown = prepare(tmp_path, "--cfg", "job")
    assert shown.returncode == 0 and "n_workers: 0" in shown.stdout
    assert not (tmp_path / "cache").exists()
