"""A run knows the text that it began with."""

import shutil

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import ConfigError
from tests.training.tiny_runs import reversed_pairs, tiny_config, train_with, write_split


def test_a_run_goes_on_only_with_the_text_that_it_began_with(corpus, tmp_path):
    mine = shutil.copytree(corpus, tmp_path / "corpus")
    run_dir = tmp_path / "run"
    train_with(tiny_config(mine, run_dir, {"trainer.max_steps": 2}))
    before = RunDirectory(run_dir).identity()
    assert before and before.corpus.keys() == {"train", "valid", "test/test"} and len(before.tokenizer) == 64
    moved = mine.rename(tmp_path / "moved")
    write_split(moved, "test", reversed_pairs(5, seed=99))  # a test set is free to change
    train_with(tiny_config(moved, run_dir, {"trainer.max_steps": 3}), resume=True)
    after = RunDirectory(run_dir).identity()
    assert after and (after.id, after.tokenizer) == (before.id, before.tokenizer)
    changed = {split for split, digests in after.corpus.items() if digests != before.corpus[split]}
    assert changed == {"test/test"}
    for split in ("train", "valid"):
        other = shutil.copytree(moved, tmp_path / split)
        write_split(other, split, reversed_pairs(9, seed=99))
        with pytest.raises(ConfigError, match=rf"{run_dir} began with other text in {split} than .*{split}\.fr"):
            train_with(tiny_config(other, run_dir, {"trainer.max_steps": 4}), resume=True)
        assert RunDirectory(run_dir).identity() == after


def test_a_run_that_drops_overlap_goes_on_only_with_its_test_sets(corpus, tmp_path):
    mine = shutil.copytree(corpus, tmp_path / "corpus")
    run_dir = tmp_path / "run"
    train_with(tiny_config(mine, run_dir, {"trainer.max_steps": 2, "data.drop_overlap": "exact"}))
    write_split(mine, "test", reversed_pairs(5, seed=99))
    with pytest.raises(ConfigError, match=rf"{run_dir} began with other text in train than .*test\.fr"):
        train_with(tiny_config(mine, run_dir, {"trainer.max_steps": 3, "data.drop_overlap": "exact"}), resume=True)
