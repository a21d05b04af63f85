"""What one ships: written whole or not at all, read without running any of it."""

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.model_directory import (
    is_model_directory,
    portable,
    read_model_directory,
    write_model_directory,
    write_safetensors,
)
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig, read_config
from seq2seq.config.on_resume import classes, marks, value_of
from seq2seq.dataset.seen import PERCENTS, SeenText
from seq2seq.errors import CheckpointError
from tests.translation.engines.models import random_model, run_content

MODEL = run_content(random_model(embeddings="decoder"))


def write(path: Path, model: SavedModel = MODEL, **options: Any) -> Path:
    def weights(folder: Path) -> None:
        write_safetensors(folder, model.weights, model.tokenizer_sha256)

    write_model_directory(path, model, "# a model\n", weights, **options)
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write(tmp_path / "model")


def test_the_lengths_of_the_training_text_are_kept_and_may_be_missing(directory: Path, tmp_path: Path) -> None:
    percentiles = {f"{percent:g}": i for i, percent in enumerate(PERCENTS)}
    lengths = SeenText(9, percentiles, percentiles, [0.9, 0.1])
    assert read_model_directory(write(tmp_path / "new", dataclasses.replace(MODEL, seen=lengths))).seen == lengths
    content = json.loads((directory / "config.json").read_text())
    assert "seen" not in content  # as in the directories of older versions
    assert read_model_directory(directory).seen is None
    (directory / "SHA256SUMS").unlink()  # as in those, too
    (directory / "config.json").write_text(json.dumps(content | {"seen": {"n_pairs": 3}}))
    with pytest.raises(CheckpointError, match=r"config.json: its 'seen' is not the lengths of a training text"):
        read_model_directory(directory)


def test_other_types_and_views_survive(tmp_path: Path) -> None:
    wide = torch.arange(12.0).reshape(3, 4)
    weights = {"a": wide.t(), "b": wide[1:], "c": wide.bfloat16(), "d": wide.t()}
    found = read_model_directory(write(tmp_path / "model", dataclasses.replace(MODEL, weights=weights))).weights
    torch.testing.assert_close(dict(found), {name: w.contiguous() for name, w in weights.items()}, rtol=0, atol=0)


def test_nothing_of_the_machine_is_shipped(directory: Path) -> None:
    text = (directory / "config.json").read_text()
    assert "somebody" not in text
    data = json.loads(text)["config"]["data"]
    assert data["valid"] == ["news", {"src": "a.fr", "tgt": "b.en"}]
    assert (data["dir"], data["train"]) == ("", "train")


def test_no_key_that_is_shipped_names_a_place() -> None:
    """`tests/config/test_config.py` looks for keys that take a path."""
    config = RunConfig()
    for key in classes(RunConfig):
        section, _, name = key.rpartition(".")
        if isinstance(value_of(config, key), str):
            setattr(value_of(config, section) if section else config, name, "/home/ann/corpus")
    for train in ("/home/ann/a", "~ann/a", "../ann/a", [{"source": "/home/ann/a", "tag": "t"}], "http://ann:x@host/a"):
        config.data.train = train
        assert "ann" not in json.dumps(portable(dataclasses.asdict(config)))
    shipped = portable(dataclasses.asdict(config))
    for key, mark in marks(RunConfig).items():
        if mark.is_local:
            section, _, name = key.rpartition(".")
            assert (shipped[section] if section else shipped)[name] == value_of(RunConfig(), key)


@pytest.mark.parametrize("place", ["bundled:sample", "corpus:multi30k"])
def test_a_corpus_with_a_name_is_the_same_everywhere(place: str) -> None:
    config = {**MODEL.config, "data": MODEL.config["data"] | {"dir": place}}
    assert portable(config)["data"]["dir"] == place


# --- whole or not at all ---


def fails(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"half")
    raise RuntimeError("no more")


def test_a_failure_leaves_the_old_one_as_it_was(directory: Path) -> None:
    with pytest.raises(RuntimeError, match="no more"):
        write_model_directory(directory, MODEL, "", fails, overwrite=True)
    assert list(directory.parent.iterdir()) == [directory]
    assert read_model_directory(directory).weights


def test_only_a_model_directory_is_replaced_and_only_if_asked_for(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"exists already, and is kept; add --force to replace it"):
        write(directory)
    write(directory, dataclasses.replace(MODEL, config={**MODEL.config, "name": "second"}), overwrite=True)
    assert read_model_directory(directory).config["name"] == "second"
    assert list(tmp_path.iterdir()) == [directory]

    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").write_text("It was a dark and stormy night.")
    with pytest.raises(CheckpointError, match=r"exists already; choose another --output"):
        write(tmp_path / "thesis", overwrite=True)
    assert (tmp_path / "thesis" / "chapter1").is_file()


def test_a_place_where_nothing_can_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"file/model: cannot be written \(.*\); choose another --output"):
        write(tmp_path / "file" / "model")


def test_weights_that_cannot_be_written_are_one_sentence(tmp_path: Path) -> None:
    def weights(folder: Path) -> None:  # safetensors has an error of its own, for a full disk, too
        write_safetensors(folder / "missing", MODEL.weights, MODEL.tokenizer_sha256)

    with pytest.raises(
        CheckpointError, match=r"model: cannot be written \(.*No such file.*\); choose another --output"
    ):
        write_model_directory(tmp_path / "model", MODEL, "", weights)
    assert not list(tmp_path.iterdir())


# --- what is refused ---


@pytest.mark.parametrize("file", ["config.json", "tokenizer.model", "model.safetensors", "SHA256SUMS", "ctranslate2/a"])
@pytest.mark.parametrize("make", [lambda f: os.mkfifo(f), lambda f: f.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_a_file_that_may_have_no_end_is_not_read(directory: Path, file: str, make: Callable[[Path], None]) -> None:
    (directory / "ctranslate2").mkdir()
    (directory / file).unlink(missing_ok=True)
    make(directory / file)
    with pytest.raises(CheckpointError, match=rf"{file}: is no regular file, so it is not read; copy the directory"):
        TrainedModel.read(directory)
    assert is_model_directory(directory) == (file != "config.json")


@pytest.mark.parametrize("file", ["config.json", "tokenizer.model"])
def test_a_missing_file_is_named(directory: Path, file: str) -> None:
    (directory / file).unlink()
    with pytest.raises(CheckpointError, match=rf"{file}: cannot be read \(No such file.*copy it again or export"):
        read_model_directory(directory)


def test_missing_weights_are_named(directory: Path) -> None:
    (directory / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"has neither model\.safetensors nor ctranslate2/"):
        read_model_directory(directory)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", b'{"format": ', r"config\.json: is not JSON, so it is damaged"),
        ("config.json", b"\xff\xfe", r"config\.json: is not JSON, so it is damaged"),
        ("config.json", b'{"architectures": ["BERT"]}', r"config\.json: does not describe a model of this project"),
        ("config.json", b"[]", r"config\.json: does not describe a model of this project"),
        ("tokenizer.model", b"something else", r"tokenizer\.model: is damaged, or not the tokenizer"),
        ("model.safetensors", b"", r"model\.safetensors: not a whole safetensors file"),
        ("model.safetensors", b"\x80\x04 a pickle", r"model\.safetensors: not a whole safetensors file"),
    ],
)
def test_damaged_and_foreign_files_are_refused(directory: Path, file: str, content: bytes, message: str) -> None:
    (directory / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        read_model_directory(directory)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 1}, "has format version 1 and this version of seq2seq reads 3; install"),
        ({"config": None}, "has no config, so it was changed"),
        ({"tokenizer_sha256": None}, "has no tokenizer_sha256, so it was changed"),
        ({"tokenizer_sha256": "0" * 64}, r"tokenizer\.model: is damaged, or not the tokenizer that config\.json names"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(directory: Path, changes: dict[str, Any], message: str) -> None:
    file = directory / "config.json"
    content = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not None}))
    with pytest.raises(CheckpointError, match=message):
        read_model_directory(directory)


def test_weights_of_another_model_directory_are_refused(directory: Path, tmp_path: Path) -> None:
    write_safetensors(directory, MODEL.weights, "f" * 64)
    with pytest.raises(CheckpointError, match=r"trained with another tokenizer than config\.json names"):
        read_model_directory(directory)


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "ctranslate2/model.bin", "ctranslate2/config.json"]
)
def test_a_file_that_differs_from_its_checksum_is_named(tmp_path: Path, file: str) -> None:
    def weights(folder: Path) -> None:
        write_safetensors(folder, MODEL.weights, MODEL.tokenizer_sha256)
        (folder / "ctranslate2").mkdir()
        (folder / "ctranslate2" / "model.bin").write_bytes(b"weights that are long enough")
        (folder / "ctranslate2" / "config.json").write_text('{"layer_norm_epsilon": 0.00001}')

    write_model_directory(tmp_path / "model", MODEL, "# a model\n", weights)
    damaged = tmp_path / "model" / file
    data = bytearray(damaged.read_bytes())
    place = data.index(b'"seed": 1') + 8 if file == "config.json" else len(data) - 3
    data[place] ^= 2
    damaged.write_bytes(data)
    message = rf"{file}: differs from its checksum in SHA256SUMS, so it is damaged or was changed; copy the directory"
    with pytest.raises(CheckpointError, match=message):
        read_model_directory(tmp_path / "model")
    (tmp_path / "model" / "SHA256SUMS").unlink()
    read_model_directory(tmp_path / "model")


def test_a_file_that_is_missing_is_named(directory: Path) -> None:
    with (directory / "SHA256SUMS").open("a") as sums:
        sums.write(f"{'0' * 64}  ctranslate2/vmap.txt\n")
    message = r"vmap\.txt: is missing, though SHA256SUMS names it; copy the directory again, or delete SHA256SUMS if"
    with pytest.raises(CheckpointError, match=message):
        read_model_directory(directory)


def test_the_usual_program_can_compare_the_checksums(directory: Path) -> None:
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    assert done.stdout == "config.json: OK\ntokenizer.model: OK\nmodel.safetensors: OK\n"


def test_the_checksums_cannot_be_cut_off_in_silence_and_people_may_write_into_the_card(directory: Path) -> None:
    (directory / "README.md").write_text("# My model")
    read_model_directory(directory)
    sums = directory / "SHA256SUMS"
    whole = sums.read_text()
    for n_lines in range(3):
        sums.write_text("".join(whole.splitlines(keepends=True)[:n_lines]))
        with pytest.raises(CheckpointError, match="differs from its checksum in SHA256SUMS"):
            read_model_directory(directory)


def test_the_configuration_of_the_run_is_not_changed() -> None:
    before = dataclasses.asdict(read_config(MODEL.config))
    portable(MODEL.config)
    assert MODEL.config == before
