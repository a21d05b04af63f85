"""Labelled text of which a tiny classifier learns the labels in a second, and runs on it."""

import random
from pathlib import Path
from typing import Any

from seq2seq.config import RunConfig
from tests.training.tiny_runs import tiny_config

WORDS = ["bab", "dod", "fif", "gug", "lol", "mim"]
MARKS = {"cat\u00e9gorie un": "zuz", "deux/2": "vev", "3": "kak"}  # the word that says which label a text has

LABELLED = {
    "data.src_lang": "fr",
    "data.tgt_lang": "label",
    "data.tsv_columns": ["fr", "label"],
    "data.train": "train.tsv",
    "data.valid": "valid.tsv",
    "data.test": "test.tsv",
    "tokenizer.vocab_size": 285,
    "classify.encoder": "fresh",
    "classify.dropout": 0.0,
    "optim.label_smoothing": 0.0,
    "optim.lr": 1e-2,
    "trainer.monitor": "valid/macro_f1",
    "trainer.max_epochs": 4,
    "batch.max_tokens": 200,
}


def labelled_lines(n: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        label = rng.choice([*MARKS, "3"])  # the last one is twice as frequent
        words = rng.choices(WORDS, k=rng.randint(1, 5))
        words.insert(rng.randint(0, len(words)), MARKS[label])
        lines.append(f"{' '.join(words)}\t{label}")
    return lines


def write_labelled(folder: Path, n_train: int = 240, n_valid: int = 30, n_test: int = 31) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (split, n) in enumerate({"train": n_train, "valid": n_valid, "test": n_test}.items()):
        write_lines(folder / f"{split}.tsv", labelled_lines(n, seed))
    return folder


def write_lines(file: Path, lines: list[str]) -> Path:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def label_config(folder: Path, run_dir: Path, changes: dict[str, Any] | None = None) -> RunConfig:
    return tiny_config(folder, run_dir, LABELLED | (changes or {}))
