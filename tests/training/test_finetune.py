"""A run that starts from a trained model."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError, TokenizerError
from tests.training.tiny_runs import (
    arguments,
    checkpoint,
    command,
    reversed_pairs,
    tiny_config,
    train_in_parts,
    train_with,
    write_corpus,
    write_split,
)

STILL = {"optim.lr": 1e-12, "trainer.max_epochs": 0, "trainer.max_steps": 1, "data.test": None}


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory) -> Path:
    run_dir = tmp_path_factory.mktemp("trained") / "run"
    train_with(tiny_config(corpus, run_dir, {"optim.lr": 1e-2, "trainer.max_epochs": 1}))
    return run_dir


@pytest.fixture(scope="module")
def other_corpus(tmp_path_factory) -> Path:
    """Other text, from which other subwords would be learned."""
    folder = write_corpus(tmp_path_factory.mktemp("other"))
    write_split(folder, "train", [(src.upper(), tgt.upper()) for src, tgt in reversed_pairs(200, seed=5)])
    return folder


def test_it_begins_with_the_weights_and_the_subwords(trained, other_corpus, tmp_path):
    train_with(tiny_config(other_corpus, tmp_path / "run", STILL | {"finetune": str(trained)}))
    start, done = TrainedModel.read(trained), TrainedModel.read(tmp_path / "run")
    assert done.tokenizer.fingerprint == start.tokenizer.fingerprint
    assert done.weights.keys() == start.weights.keys()
    for name, weight in start.weights.items():
        torch.testing.assert_close(done.weights[name], weight, rtol=0, atol=1e-9, msg=name)


def test_it_knows_the_lengths_of_its_own_text(trained, tmp_path):
    folder = write_corpus(tmp_path / "long")
    write_split(folder, "train", [(f"{src}. Et {src}.", tgt) for src, tgt in reversed_pairs(60, seed=5)])
    train_with(tiny_config(folder, tmp_path / "run", STILL | {"finetune": str(trained)}))
    start, done = TrainedModel.read(trained).seen, TrainedModel.read(tmp_path / "run").seen
    assert start and done
    assert start.n_pairs == 300 and done.n_pairs == 60
    assert (start.usual_sentences, done.usual_sentences) == (1, 2)
    assert done.src_tokens["50"] > 1.5 * start.src_tokens["50"]


def test_nothing_else_of_the_first_run_goes_on(trained, corpus, tmp_path):
    train_with(tiny_config(corpus, tmp_path / "run", STILL | {"finetune": str(trained)}))
    content = checkpoint(tmp_path / "run")
    assert content["global_step"] == 1
    assert {int(state["step"]) for state in content["optimizer_states"][0]["state"].values()} == {1}


@pytest.mark.slow
def test_a_run_that_is_stopped_and_resumed_does_not_begin_anew(trained, corpus, tmp_path):
    changes = {"finetune": str(trained), "trainer.max_epochs": 2, "data.test": None}
    train_in_parts(tiny_config(corpus, tmp_path / "unbroken", changes))
    train_in_parts(tiny_config(corpus, tmp_path / "stopped", changes), 17)
    states = [checkpoint(tmp_path / name)["state_dict"] for name in ("unbroken", "stopped")]
    for name, weight in states[0].items():
        assert torch.equal(weight, states[1][name]), name


@pytest.mark.slow
def test_it_takes_the_shape_from_the_model_and_dropout_from_the_command(trained, corpus, tmp_path):
    given = arguments(corpus, tmp_path / "run", STILL | {"data.test": "valid"})
    given = [each for each in given if not each.startswith("model.")]
    done = command(*given, f"finetune={trained}", "model.dropout=0.25")
    assert done.returncode == 0, done.stderr
    assert f"starting from the weights of {trained}" in done.stderr
    start, model = TrainedModel.read(trained).config.model, TrainedModel.read(tmp_path / "run").config.model
    assert model == dataclasses.replace(start, dropout=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "has"),
    [
        ("model=base", "model.d_model=16"),
        ("model.d_ff=48", "model.d_ff=24"),
        ("tokenizer=unigram", "tokenizer.model_type=bpe"),
    ],
)
def test_another_shape_is_an_error_in_a_sentence(trained, tmp_path, option, has):
    done = command(f"finetune={trained}", option, f"run_dir={tmp_path / 'run'}")
    assert done.returncode == 2
    assert re.match(
        rf"error: {option} does not fit the model to start from: \S+model.ckpt has {has}; leave it out", done.stderr
    ), done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_what_is_no_model_is_an_error_in_a_sentence(tmp_path):
    nothing = tmp_path / "nothing"
    done = command(f"finetune={nothing}", f"run_dir={tmp_path / 'run'}")
    assert (done.returncode, done.stderr) == (2, f"error: {nothing}: no such run directory or checkpoint\n")


def test_a_tag_that_the_model_does_not_have_is_an_error(trained, corpus, tmp_path):
    changes = {"finetune": str(trained), "data.train": [{"source": "train", "tag": "news"}]}
    with pytest.raises(TokenizerError, match="has no tag 'news'"):
        train_with(tiny_config(corpus, tmp_path / "run", changes))


@pytest.mark.slow
def test_the_first_model_is_not_needed_to_resume(trained, corpus, tmp_path):
    model = shutil.copytree(trained, tmp_path / "model")
    changes = {"finetune": str(model), "trainer.max_epochs": 1, "data.test": None}
    train_with(tiny_config(corpus, tmp_path / "run", changes))
    shutil.rmtree(model)
    with pytest.raises(CheckpointError):
        train_with(tiny_config(corpus, tmp_path / "other", changes))
    train_with(tiny_config(corpus, tmp_path / "run", changes | {"trainer.max_epochs": 2}), resume=True)
