"""A corpus of random sentences, and what its preparation leaves in the cache."""

import random


def sentence(seed):
    rng = random.Random(seed)
    words = ("".join(rng.choices("abcdefghilmnopqrstuvé", k=rng.randint(2, 7))) for _ in range(rng.randint(1, 9)))
    return " ".join(words)


def write_split(folder, split, pairs):
    for language, side in zip(("fr", "en"), zip(*pairs, strict=True), strict=True):
        (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in side), newline="")


def stores(tmp_path):
    return {path.name for path in (tmp_path / "cache/stores").glob("*/")}


def tokenizers(tmp_path):
    return {path.name for path in (tmp_path / "cache/tokenizers").glob("*.model")}
