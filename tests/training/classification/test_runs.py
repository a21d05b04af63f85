"""Runs of a classifier, from a labelled TSV to its scores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import seq2seq
from seq2seq.artifacts.checkpoint import write_checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError, ConfigError, CorpusError
from seq2seq.training.selection import average_checkpoints
from seq2seq.vocabulary import EOS
from tests.labelling import LABELLED, MARKS, label_config, labelled_lines, write_labelled, write_lines
from tests.places import made_once
from tests.training.tiny_runs import (
    TIMINGS,
    arguments,
    callback_states,
    checkpoint,
    tiny_config,
    train_here,
    train_in_parts,
    train_with,
)


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_labelled(tmp_path_factory.mktemp("labelled"))


@pytest.fixture(scope="session")
def translation(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that translates other text."""
    steps = {"trainer.max_steps": 3}
    return made_once(tmp_path_factory, "translation", lambda path: train_with(tiny_config(corpus, path, steps)))


def on_top_of(translation: Path, encoder: str) -> dict[str, Any]:
    return {"finetune": str(translation), "classify.encoder": encoder}


def weights(run_dir: Path, part: str) -> dict[str, torch.Tensor]:
    return {name: w for name, w in TrainedModel.read(run_dir).weights.items() if name.startswith(part)}


def test_it_learns_the_labels_of_a_tsv(classified_run: Path) -> None:
    run = RunDirectory(classified_run)
    scores = run.scores()["test"]
    assert scores["accuracy"].score > 0.9
    assert scores["macro_f1"].score > 0.9
    assert {name.removeprefix("f1/") for name in scores if name.startswith("f1/")} == set(MARKS)
    assert run.tests() == ["test"]
    references = [line.split("\t")[1] for line in labelled_lines(31, 2)]
    assert [first for first, *_ in run.references("test")] == references
    right = sum(a == b for a, b in zip(run.hypotheses("test"), references, strict=True))
    assert scores["accuracy"].score == pytest.approx(right / 31, abs=1e-4)
    assert run.confusion_file("test").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"deux/2 +[\d.]{5} +[\d.]{5}  [\d.]{5} ± ", run.summary())
    assert f"python -m seq2seq classify --model {classified_run}" in run.summary()
    counts = {label: sum(line.endswith(f"\t{label}") for line in labelled_lines(240, 0)) for label in MARKS}
    assert run.provenance()["data_report"]["splits"]["train"]["labels"] == counts
    names = {metric.name for metric in run.metrics()}
    assert {"valid/loss", "valid/accuracy", "valid/macro_f1", "train/loss", "test/test/f1/deux/2"} <= names
    assert not {name for name in names if "bleu" in name}
    found = seq2seq.load_classifier(classified_run).classify(["bab zuz", "kak lol"])
    assert [each.label for each in found] == ["catégorie un", "3"]


def test_the_gradient_of_a_step_is_that_of_the_mean_over_its_sentences(labelled: Path, tmp_path: Path) -> None:
    """In one batch and in several; and the same as that of the model that the run began with."""
    still = {"optim.lr": 1e-12, "trainer.max_epochs": 0, "trainer.max_steps": 1, "model.dropout": 0.0, "data.test": []}
    found = []
    for max_tokens, accumulate in ((6000, 1), (120, 1000)):
        config = label_config(
            labelled,
            tmp_path / str(max_tokens),
            still | {"batch.max_tokens": max_tokens, "batch.accumulate": accumulate},
        )
        train_with(config)
        logged = {m.name: m.value for m in RunDirectory(tmp_path / str(max_tokens)).metrics()}
        found.append((logged["train/grad_norm"], logged["train/loss"]))
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    trained = TrainedModel.read(tmp_path / "6000")
    model = trained.build_classifier()
    logits, labels = [], []
    for line in labelled_lines(240, 0):
        text, label = line.split("\t")
        logits.append(model(torch.tensor([[*trained.tokenizer.encode([text])[0], EOS]])))
        labels.append(list(trained.saved.labels).index(label))
    loss = torch.nn.functional.cross_entropy(torch.cat(logits), torch.tensor(labels))
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    assert found[0] == pytest.approx((norm.item(), loss.item()), rel=1e-3)


def test_a_frozen_encoder_stays_as_it_is_bit_for_bit(labelled: Path, translation: Path, tmp_path: Path) -> None:
    changes = on_top_of(translation, "frozen") | {
        "optim.weight_decay": 0.1,
        "optim.lr": 0.05,
        "optim.optimizer": "muon",
    }
    outcome = train_with(
        label_config(
            labelled, tmp_path / "run", changes | {"trainer.average_last": 3, "trainer.max_epochs": 3, "data.test": []}
        )
    )
    assert "average of the last 3 validations" in outcome.valid
    before, after = weights(translation, "encoder."), weights(tmp_path / "run", "encoder.")
    average = checkpoint(tmp_path / "run", "model.ckpt")["state_dict"]
    assert before.keys() == after.keys()
    for name, weight in before.items():
        assert torch.equal(after[name], weight), name
        assert torch.equal(average[f"model.{name}"], weight), name
    table = weights(translation, "embeddings.")["embeddings.tables.shared"]
    assert torch.equal(weights(tmp_path / "run", "embeddings.")["embeddings.tables.shared"], table)
    head = [value for name, value in checkpoint(tmp_path / "run")["state_dict"].items() if "to_labels.weight" in name]
    assert head[0].abs().max() > 0.3, "the labels were learned"


def test_an_average_of_checkpoints_keeps_what_is_the_same_in_all(tmp_path: Path, classified_run: Path) -> None:
    """Seven times a number is rounded, and so is a seventh of that."""
    content = checkpoint(classified_run, "model.ckpt")
    for number in range(7):
        state = content["state_dict"] | {"model.to_labels.bias": torch.full((3,), float(number))}
        write_checkpoint(content | {"state_dict": state}, tmp_path / f"{number}.ckpt")
    average = average_checkpoints(list(tmp_path.glob("*.ckpt")))
    assert average["to_labels.bias"].tolist() == [3.0, 3.0, 3.0]
    for name, weight in average.items():
        assert name == "to_labels.bias" or torch.equal(weight, content["state_dict"][f"model.{name}"]), name


@pytest.mark.parametrize("kind", ["translation", "classifier"])
def test_a_finetuned_encoder_starts_from_the_weights_of_the_model(
    labelled: Path, translation: Path, classified_run: Path, tmp_path: Path, kind: str
) -> None:
    start = translation if kind == "translation" else classified_run
    still = {"optim.lr": 1e-5, "trainer.max_epochs": 0, "trainer.max_steps": 1, "data.test": []}
    train_with(label_config(labelled, tmp_path / "run", on_top_of(start, "finetuned") | still))
    for part in ("encoder.", "embeddings."):
        before, after = weights(start, part), weights(tmp_path / "run", part)
        assert before.keys() == after.keys()
        for name, weight in before.items():
            torch.testing.assert_close(after[name], weight, rtol=0, atol=1e-5, msg=name)
            assert not torch.equal(after[name], weight), f"{name} is trained on"
    assert TrainedModel.read(tmp_path / "run").tokenizer.fingerprint == TrainedModel.read(start).tokenizer.fingerprint


def test_a_resumed_run_is_the_run_that_was_never_stopped(labelled: Path, tmp_path: Path) -> None:
    changes = {
        "trainer.patience": 3, "trainer.ema_decay": 0.9, "model.dropout": 0.2, "classify.dropout": 0.2,
        "classify.class_weights": "balanced", "classify.pool": "max", "batch.accumulate": 2, "trainer.max_epochs": 2,
    }  # fmt: skip
    found = []
    for name, stops in {"whole": (), "parts": (2, 7)}.items():
        run_dir = tmp_path / name
        train_in_parts(label_config(labelled, run_dir, changes), *stops)
        content = checkpoint(run_dir)
        state = {name: value.tolist() for name, value in content["state_dict"].items()}
        rows = [(m.step, m.name, m.value) for m in RunDirectory(run_dir).metrics() if m.name not in TIMINGS]
        states = {k: v for k, v in callback_states(content).items() if "Exponential" not in k}
        found.append((state, sorted(rows), str(states), (run_dir / "scores.json").read_text()))
    assert found[0] == found[1]


def test_balanced_weights_help_a_rare_label(tmp_path: Path) -> None:
    """With a label that only one line in fifteen has, and nothing in the text to tell it by."""
    lines = [f"bab dod {i % 7}\t{'rare' if i % 15 == 0 else 'usual'}" for i in range(150)]
    folder = tmp_path / "text"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        write_lines(folder / f"{split}.tsv", lines)
    shares = []
    for balance in ("none", "balanced"):
        changes: dict[str, Any] = {
            "classify.class_weights": balance,
            "trainer.max_epochs": 3,
            "tokenizer.vocab_size": 280,
            "data.test": [],
        }
        train_with(label_config(folder, tmp_path / balance, changes))
        (found,) = seq2seq.load_classifier(tmp_path / balance, precision="float32").classify(["bab dod 3"])
        shares.append(found.probabilities["rare"])
    assert shares[0] < 0.2 < 0.3 < shares[1] < 0.7


def test_what_a_translation_model_and_a_classifier_cannot_do_is_said(
    labelled: Path, translation: Path, classified_run: Path, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match=r"is a classifier, which does not translate; use it with: python -m seq"):
        seq2seq.load(classified_run)
    with pytest.raises(
        CheckpointError, match=r"is a translation model, which has no labels; train a classifier on top"
    ):
        seq2seq.load_classifier(translation)
    with pytest.raises(CheckpointError, match="is a classifier, which does not translate"):
        train_with(
            tiny_config(corpus, tmp_path / "run", {"finetune": str(classified_run), "tokenizer.vocab_size": 285})
        )


@pytest.mark.usefixtures("own_signals")
def test_a_line_with_an_unknown_label_ends_the_command_with_its_place(labelled: Path, tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "text")
    write_lines(folder / "valid.tsv", ["bab zuz\t3", "bab\tdeux/3"])
    done = train_here(*arguments(folder, tmp_path / "run", LABELLED | {"data.tsv_columns": "[fr,label]"}))
    assert done.returncode == 2
    assert f"error: {folder}/valid.tsv:2: the label 'deux/3' is not one of the training text" in done.stderr
    write_lines(folder / "train.tsv", ["bab zuz\t3", "bab kak\t3"])
    with pytest.raises(CorpusError, match=r"train.tsv: the only label is '3'; a classifier needs at least two"):
        train_with(label_config(folder, tmp_path / "other"))


def test_a_resumed_run_with_other_labels_is_refused(labelled: Path, tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "text")
    config = label_config(folder, tmp_path / "run", {"trainer.max_steps": 1, "data.test": []})
    train_with(config)
    write_lines(folder / "train.tsv", [*labelled_lines(240, 0), "bab\tnew"])
    with pytest.raises(ConfigError, match="began with other text in train"):
        train_with(config, resume=True)


def test_the_scores_can_be_read_by_others(classified_run: Path) -> None:
    scores = json.loads((classified_run / "scores.json").read_text())["test"]
    assert list(scores)[:2] == ["accuracy", "macro_f1"]
    assert set(scores["f1/3"]) == {"score", "mean", "half_width", "signature"}
