"""Embeddings that start from vectors of words."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import read_config
from seq2seq.errors import ConfigError
from seq2seq.model.embeddings import Embeddings
from seq2seq.training.stop_signals import TrainingInterrupted
from seq2seq.training.word_vectors import start_from_vectors
from tests.training.tiny_runs import SignalAt, tiny_config, train_with
from tests.translating import model_content

D = 16


@pytest.fixture(scope="module")
def start(corpus, tmp_path_factory) -> TrainedModel:
    """A tokenizer of words of two letters, as all tests here have it."""
    folder = tmp_path_factory.mktemp("start") / "run"
    train_with(tiny_config(corpus, folder, {"trainer.max_epochs": 0, "trainer.max_steps": 1, "data.test": None}))
    return TrainedModel.read(folder)


def write_vectors(path: Path, words: list[str], width: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(3, 5, (len(words), width)).astype(np.float32)
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in zip(words, vectors, strict=True)))
    return vectors


def started(tokenizer, sharing: str, **files: Path) -> tuple[Embeddings, Embeddings]:
    """The embeddings before and after."""
    config = tiny_config(Path(), Path(), {key: str(path) for key, path in files.items()})
    before, after = (Embeddings(sharing, tokenizer.vocab_size, D, D) for _ in range(2))
    after.load_state_dict(before.state_dict())
    start_from_vectors(after, tokenizer, config)
    return before, after


def similarity(vectors: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vectors) @ torch.nn.functional.normalize(vectors).T


def test_words_get_their_vectors_and_the_rest_stays_random(start, tmp_path):
    words = ["ba", "de", "fi", "ko"]
    given = write_vectors(tmp_path / "a.vec", [*words, "nobody"], D)[:4]
    before, after = started(start.tokenizer, "separate", src_vectors=tmp_path / "a.vec")
    ids = [start.tokenizer.subwords()[f"▁{word}"][0] for word in words]

    centred = torch.from_numpy(given - given.mean(0))
    torch.testing.assert_close(similarity(after.source[ids]), similarity(centred))
    assert after.source[ids].var(unbiased=False).item() == pytest.approx(1 / D, rel=1e-5)
    others = [i for i in range(start.tokenizer.vocab_size) if i not in ids]
    assert torch.equal(after.source[others], before.source[others])
    assert torch.equal(after.target, before.target) and torch.equal(after.output, before.output)


def test_each_table_gets_the_vectors_of_its_language(start, tmp_path):
    words = ["ba", "de", "fi", "ko"]
    src = write_vectors(tmp_path / "src.vec", words, D, seed=1)
    tgt = write_vectors(tmp_path / "tgt.vec", words, D, seed=2)
    ids = [start.tokenizer.subwords()[f"▁{word}"][0] for word in words]
    files = {"src_vectors": tmp_path / "src.vec", "tgt_vectors": tmp_path / "tgt.vec"}

    apart = started(start.tokenizer, "decoder", **files)[1]
    torch.testing.assert_close(similarity(apart.source[ids]), similarity(torch.from_numpy(src - src.mean(0))))
    torch.testing.assert_close(similarity(apart.target[ids]), similarity(torch.from_numpy(tgt - tgt.mean(0))))
    mean = torch.from_numpy((src + tgt) / 2 - (src + tgt).mean(0) / 2)
    together = started(start.tokenizer, "shared", **files)[1]
    torch.testing.assert_close(similarity(together.source[ids]), similarity(mean))


def test_wide_vectors_keep_the_directions_in_which_they_differ(start, tmp_path):
    words = [piece[1:] for piece in start.tokenizer.subwords() if piece.startswith("▁") and len(piece) > 1]
    vectors = write_vectors(tmp_path / "a.vec", words, D + 9)
    _, _, directions = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    best = torch.from_numpy((vectors - vectors.mean(0)) @ directions[:D].T)
    _, after = started(start.tokenizer, "shared", src_vectors=tmp_path / "a.vec")
    ids = [start.tokenizer.subwords()[f"▁{word}"][0] for word in words]
    torch.testing.assert_close(similarity(after.source[ids]), similarity(best), rtol=1e-3, atol=1e-4)


def test_words_with_one_vector_do_not_become_nan(start, tmp_path):
    (tmp_path / "a.vec").write_text("".join(f"{word} {'1 ' * D}\n" for word in ("ba", "de")))
    assert started(start.tokenizer, "shared", src_vectors=tmp_path / "a.vec")[1].source.isfinite().all()


@pytest.mark.parametrize(
    ("words", "width", "message"),
    [
        (["ba"], D, r"src_vectors=.*a\.vec has 1 of the \d+ subwords that are words; give vectors of the language"),
        (["ba", "de"], D - 1, rf"src_vectors=.*a\.vec has vectors of {D - 1} numbers for model.d_model={D}; choose"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(start, tmp_path, words, width, message):
    write_vectors(tmp_path / "a.vec", words, width)
    with pytest.raises(ConfigError, match=message):
        started(start.tokenizer, "shared", src_vectors=tmp_path / "a.vec")


def test_two_spaces_for_one_table_are_refused(start, tmp_path):
    for name, width in (("a", D), ("b", D + 1)):
        write_vectors(tmp_path / f"{name}.vec", ["ba", "de"], width)
    files = {"src_vectors": tmp_path / "a.vec", "tgt_vectors": tmp_path / "b.vec"}
    with pytest.raises(
        ConfigError, match=r"different widths for the one table of both languages; .*embeddings=separate"
    ):
        started(start.tokenizer, "shared", **files)


def test_a_missing_file_is_told_before_any_work(corpus, tmp_path):
    config = tiny_config(corpus, tmp_path / "run", {"tgt_vectors": str(tmp_path / "none.vec")})
    with pytest.raises(ConfigError, match=r"tgt_vectors=.*none\.vec is no file; give"):
        train_with(config)


def test_weights_of_another_model_leave_no_room_for_vectors():
    config = {**model_content().config, "finetune": "runs/a", "src_vectors": "a.vec"}
    with pytest.raises(ConfigError, match=re.escape("finetune= has its embeddings already; leave src_vectors and")):
        read_config(config)


def test_a_run_starts_from_them_and_goes_on_without_the_file(corpus, tmp_path):
    words = ["ba", "de", "fi", "ko"]
    write_vectors(tmp_path / "a.vec", words, D)
    changes = {"src_vectors": str(tmp_path / "a.vec"), "optim.lr": 1e-12, "trainer.max_steps": 2, "data.test": None}
    config = tiny_config(corpus, tmp_path / "run", changes)
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(1))
    (tmp_path / "a.vec").unlink()
    train_with(config, resume=True)
    model = TrainedModel.read(tmp_path / "run")
    ids = [model.tokenizer.subwords()[f"▁{word}"][0] for word in words]
    (table,) = (weight for name, weight in model.weights.items() if "embeddings" in name)
    expected = started(model.tokenizer, "shared", src_vectors=write_again(tmp_path, words))[1].source[ids]
    torch.testing.assert_close(table[ids], expected, rtol=0, atol=1e-6)


def write_again(folder: Path, words: list[str]) -> Path:
    write_vectors(folder / "a.vec", words, D)
    return folder / "a.vec"
