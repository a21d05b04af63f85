"""A model that is trained on text as people write it translates such text, and one that is not does not."""

import random
from pathlib import Path

import pytest

from tests.training.tiny_runs import tiny_config, train_with, write_split

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in ("é", "à", "ô")]
SETTINGS = {
    "data.test": {"clean": "test", "accents": {"source": "test", "augmentation": "accents"}},
    "tokenizer.vocab_size": 400,
    "batch.max_tokens": 512,
    "model.d_model": 64,
    "model.d_ff": 128,
    "model.n_heads": 4,
    "model.dropout": 0.0,
    "model.positions": "rotary",
    "optim.optimizer": "muon",
    "optim.lr": 1e-2,
    "optim.schedule": "cosine",
    "optim.warmup_steps": 30,
    "trainer.max_epochs": 0,
    "trainer.max_steps": 300,
    "trainer.patience": 0,
    "trainer.average_last": 0,
}


def write_corpus(folder: Path) -> Path:
    """Sentences of words with accents, translated word by word."""
    rng = random.Random(1)
    words = ["".join(rng.sample(SYLLABLES, 3)) for _ in range(12)]
    for split, n in (("train", 2000), ("valid", 20), ("test", 40)):
        sentences = [rng.choices(words, k=rng.randint(1, 4)) for _ in range(n)]
        write_split(folder, split, [(" ".join(each), " ".join(word[::-1] for word in each)) for each in sentences])
    return folder


@pytest.mark.nightly
def test_a_model_that_has_read_text_without_accents_translates_it(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")

    def scores(name: str, **shares: float) -> tuple[float, float]:
        augment = {f"data.augment.{augmentation}": share for augmentation, share in shares.items()}
        tests = train_with(tiny_config(corpus, tmp_path / name, SETTINGS | augment)).tests
        return tests["clean"]["bleu"].score, tests["accents"]["bleu"].score

    clean, without_accents = scores("plain")
    assert clean > 50 and without_accents < 10
    clean, without_accents = scores("trained", accents=0.3)
    assert clean > 30 and without_accents > 30
