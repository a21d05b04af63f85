"""Much text that is prepared where the disk becomes full, and how much memory that takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.dataset.preparing import content, prepared, preparing
from tests.dataset.small_corpus import sentence, write_split
from tests.devices import small_disk
from tests.places import ROOT
from tests.test_benchmarks import script


def corpus_of(folder: Path, n_pairs: int) -> Path:
    folder.mkdir()
    pairs = [(sentence(i), sentence(-i - 1)) for i in range(n_pairs)]
    write_split(folder, "train", pairs)
    write_split(folder, "valid", pairs[:40])
    write_split(folder, "test", pairs[40:60])
    return folder


def test_a_full_disk_is_one_sentence_and_nothing_stays_but_the_tokenizer(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", 3_000)
    whole, _ = prepared(preparing(corpus, tmp_path / "whole", 1))
    with small_disk(tmp_path / "disk", 400_000) as disk:
        process = preparing(corpus, disk / "cache", 2)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 2
        error = said.splitlines()[-1]
        assert error.startswith(f"error: cannot keep prepared text under {disk / 'cache'}: No space left on device")
        assert "Traceback" not in said
        assert {file.suffix for file in (disk / "cache").glob("*/*")} == {".lock", ".model"}
        subprocess.run(["mount", "-o", "remount,size=40M", str(disk)], check=True)
        store, _ = prepared(preparing(corpus, disk / "cache", 2))
        assert content(store) == content(whole)


@pytest.mark.nightly
def test_memory_grows_by_bytes_a_pair_and_not_with_the_text(tmp_path: Path) -> None:
    speed = script("prepare_speed.py")
    peaks = []
    for n_pairs in (250_000, 1_000_000):
        folder = tmp_path / str(n_pairs)
        folder.mkdir()
        speed.write_text(folder, n_pairs)
        job = f'{{"folder": "{folder}", "n": 2, "size": 4000, "kind": "bpe", "most": 50000}}'
        figures, _ = speed.watched([sys.executable, str(ROOT / "benchmarks/prepare_speed.py"), "--job", job])
        peaks.append(figures["anonymous MB"])
    assert peaks[1] - peaks[0] < 48 * 750_000 / 1e6 + 40  # hashes and lengths; a pair has 300 bytes of text
