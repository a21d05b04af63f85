"""A run that starts from a trained model."""

import dataclasses
import logging
import re
import shutil
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError
from seq2seq.training.processes import TrainingInterrupted
from tests.places import made_once
from tests.training.tiny_runs import (
    SignalAt,
    arguments,
    checkpoint,
    reversed_pairs,
    tiny_config,
    train_here,
    train_with,
    write_corpus,
    write_split,
)

STILL = {"optim.lr": 1e-12, "trainer.max_epochs": 0, "trainer.max_steps": 1, "data.test": None}


@pytest.fixture(scope="session")
def trained(corpus, tmp_path_factory) -> Path:
    def make(folder: Path) -> None:
        train_with(tiny_config(corpus, folder, {"optim.lr": 1e-2, "trainer.max_steps": 2, "data.test": None}))

    return made_once(tmp_path_factory, "trained_to_finetune", make)


@pytest.fixture(scope="session")
def deep(corpus, tmp_path_factory) -> Path:
    def make(folder: Path) -> None:
        layers = {"model.n_encoder_layers": 4, "model.n_decoder_layers": 3}
        train_with(
            tiny_config(corpus, folder, layers | {"trainer.max_epochs": 0, "trainer.max_steps": 1, "data.test": None})
        )

    return made_once(tmp_path_factory, "deep_to_finetune", make)


@pytest.fixture(scope="session")
def finetuned(trained, tmp_path_factory) -> Path:
    """A run of one step that hardly moves, on other text, from which other subwords would be learned."""

    def make(folder: Path) -> None:
        corpus = write_corpus(folder / "corpus")
        pairs = [(f"{src.upper()}. Et {src}.", tgt.upper()) for src, tgt in reversed_pairs(60, seed=5)]
        write_split(corpus, "train", pairs)
        train_with(tiny_config(corpus, folder / "run", STILL | {"finetune": str(trained)}))

    return made_once(tmp_path_factory, "finetuned", make) / "run"


def test_it_begins_with_the_weights_and_the_subwords_and_nothing_else_of_the_first_run(trained, finetuned):
    start, done = TrainedModel.read(trained), TrainedModel.read(finetuned)
    assert done.tokenizer.fingerprint == start.tokenizer.fingerprint
    assert done.weights.keys() == start.weights.keys()
    for name, weight in start.weights.items():
        torch.testing.assert_close(done.weights[name], weight, rtol=0, atol=1e-9, msg=name)
    content = checkpoint(finetuned)
    assert content["global_step"] == 1
    assert {int(state["step"]) for state in content["optimizer_states"][0]["state"].values()} == {1}


def test_it_knows_the_lengths_of_its_own_text(trained, finetuned):
    start, done = TrainedModel.read(trained).seen, TrainedModel.read(finetuned).seen
    assert start and done
    assert start.n_pairs == 300 and done.n_pairs == 60
    assert (start.usual_sentences, done.usual_sentences) == (1, 2)
    assert done.src_tokens["50"] > 1.5 * start.src_tokens["50"]


def test_a_run_that_is_resumed_does_not_begin_anew_and_does_not_need_the_first_model(trained, corpus, tmp_path):
    model = shutil.copytree(trained, tmp_path / "model")
    changes = {"finetune": str(model), "trainer.max_steps": 4, "data.test": None}
    train_with(tiny_config(corpus, tmp_path / "unbroken", changes))
    stopped = tiny_config(corpus, tmp_path / "stopped", changes)
    with pytest.raises(TrainingInterrupted):
        train_with(stopped, SignalAt(3))
    shutil.rmtree(model)
    with pytest.raises(CheckpointError, match=f"^{model}: no such run directory or checkpoint$"):
        train_with(tiny_config(corpus, tmp_path / "other", changes))
    train_with(stopped, resume=True)
    states = [checkpoint(tmp_path / name)["state_dict"] for name in ("unbroken", "stopped")]
    for name, weight in states[0].items():
        assert torch.equal(weight, states[1][name]), name


def test_it_takes_the_shape_from_the_model_and_dropout_from_the_command(trained, corpus, tmp_path, own_signals, caplog):
    caplog.set_level(logging.INFO)
    given = arguments(corpus, tmp_path / "run", STILL | {"data.test": "null"})
    given = [each for each in given if not each.startswith("model.")]
    done = train_here(*given, f"finetune={trained}", "model.dropout=0.25")
    assert done.returncode == 0, done.stderr
    assert f"starting from the weights of {trained}" in caplog.text
    start, model = TrainedModel.read(trained).config.model, TrainedModel.read(tmp_path / "run").config.model
    assert model == dataclasses.replace(start, dropout=0.25)


@pytest.mark.parametrize(
    ("n_encoder", "n_decoder", "kept"),
    [(4, 1, {"encoder": [0, 1, 2, 3], "decoder": [0]}), (2, 2, {"encoder": [0, 3], "decoder": [0, 2]})],
)
def test_it_may_have_fewer_layers(deep, corpus, tmp_path, own_signals, n_encoder, n_decoder, kept):
    layers = {"model.n_encoder_layers": n_encoder, "model.n_decoder_layers": n_decoder}
    done = train_here(
        *arguments(corpus, tmp_path / "run", STILL | layers | {"finetune": str(deep), "data.test": "null"})
    )
    assert done.returncode == 0, done.stderr
    start, found = TrainedModel.read(deep), TrainedModel.read(tmp_path / "run")
    n_layers = {"n_encoder_layers": n_encoder, "n_decoder_layers": n_decoder}
    assert found.config.model == dataclasses.replace(start.config.model, **n_layers)
    for name, weight in found.weights.items():
        half, what, *rest = name.split(".")
        if what == "layers":
            name = ".".join([half, what, str(kept[half][int(rest[0])]), *rest[1:]])
        torch.testing.assert_close(weight, start.weights[name], rtol=0, atol=1e-9, msg=name)


@pytest.mark.parametrize(
    ("option", "has"),
    [
        ("model=base", "model.d_model=16"),
        ("model.n_decoder_layers=2", "model.n_decoder_layers=1"),
        ("tokenizer=unigram", "tokenizer.model_type=bpe"),
    ],
)
def test_another_shape_is_an_error_in_a_sentence(trained, tmp_path, own_signals, option, has):
    done = train_here(f"finetune={trained}", option, f"run_dir={tmp_path / 'run'}")
    assert done.returncode == 2
    assert re.search(rf"error: {option} does not fit finetune=.*model.ckpt has {has}; leave it out", done.stderr)
    assert not (tmp_path / "run").exists()
