"""A small corpus and the configuration that prepares it."""

import pytest

from seq2seq.config import DataConfig, RunConfig, TokenizerConfig
from tests.dataset.small_corpus import sentence, write_split


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    pairs = [(sentence(i), sentence(-i - 1)) for i in range(400)]
    write_split(folder, "train", [*pairs[:300], ("", "blank"), pairs[0]])
    write_split(folder, "valid", [pairs[0], *pairs[300:340]])
    # One source of train with another target; a blank source, which train also has.
    write_split(folder, "test", [(pairs[1][0], "another target"), ("", ""), *pairs[340:]])
    return folder


@pytest.fixture
def config(corpus, tmp_path):
    return RunConfig(
        data=DataConfig(dir=str(corpus), cache_dir=str(tmp_path / "cache")),
        tokenizer=TokenizerConfig(vocab_size=400),
    )
