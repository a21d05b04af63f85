"""What the training text says about test sentences."""

from pathlib import Path

import pytest

from seq2seq.analysis.training_text import TrainingText
from seq2seq.analysis.words import letter_words
from seq2seq.config import TokenizerConfig
from seq2seq.dataset.store import PairStore, write_store
from seq2seq.tokenizer import Tokenizer

PAIRS = [
    ("L'homme dort.", "The man sleeps."),
    ("Un Homme mange une ORANGE.", "A man eats an orange."),
    ("« Homme », 12 oranges…", "“Man”, 12 oranges…"),
    ("Le chat dort", "The cat sleeps"),
    ("Le chat mange", "The cat eats"),
] * 3
WORDS = set(letter_words("homme orange chat licorne The Le"))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([text for pair in PAIRS for text in pair], TokenizerConfig(vocab_size=300), ["news"])


@pytest.fixture(params=[True, False], ids=["text", "ids"])
def store(request: pytest.FixtureRequest, tokenizer: Tokenizer, tmp_path: Path) -> PairStore:
    """Of two corpus sources, one with a tag."""
    sources = [iter(PAIRS[:4]), iter(PAIRS[4:])]
    return write_store(tmp_path / "store", sources, tokenizer, tags=["news", ""], keep_text=request.param)


def test_words_are_counted_without_case_and_marks(store: PairStore, tokenizer: Tokenizer) -> None:
    text = TrainingText.read(store, tokenizer, WORDS)
    assert dict(text.src_counts) == {"homme": 9, "orange": 3, "chat": 6, "le": 6}
    assert text.tgt_words == {"orange", "the"}
    assert text.note == ""
    assert [text.rarest_count(line) for line in ("Le chat, l'orange", "une licorne", "12 !", "")] == [0, 0, None, None]
    assert text.rarest_count("Le CHAT (orange) 7") == 3


def test_a_source_is_in_train_if_it_is_the_same_line(store: PairStore, tokenizer: Tokenizer) -> None:
    text = TrainingText.read(store, tokenizer, WORDS)
    lines = ["Le chat dort", "Le chat dort.", "le chat dort", "L'homme dort.", "The cat sleeps"]
    assert text.has_sources(lines) == [True, False, False, True, False]


def test_of_a_large_corpus_lines_at_equal_distances_are_counted_and_it_is_said(
    store: PairStore, tokenizer: Tokenizer
) -> None:
    text = TrainingText.read(store, tokenizer, WORDS, most_lines=3)
    assert dict(text.src_counts) == {"homme": 3}  # of lines 0, 5 and 10
    assert text.note.startswith("Words were counted in 3 of the 15 pairs of the training text")
    assert TrainingText.read(store, tokenizer, WORDS, most_lines=15).note == ""
