"""A trained model in any of its forms."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.checkpoint import description_of, write_checkpoint
from seq2seq.artifacts.model_directory import write_model_directory, write_safetensors
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig
from seq2seq.errors import CheckpointError, TokenizerError
from seq2seq.tokenizer import Tokenizer
from tests.translating import model_content, write_run

CONTENT = model_content()
LARGE = {**CONTENT.config, "model": CONTENT.config["model"] | {"n_encoder_layers": 10**6}}


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", CONTENT)


@pytest.fixture
def model_directory(tmp_path: Path) -> Path:
    def write_weights(folder: Path) -> None:
        write_safetensors(folder, CONTENT.weights, CONTENT.tokenizer_sha256)

    write_model_directory(tmp_path / "shipped", CONTENT, "# A model", write_weights)
    return tmp_path / "shipped"


def test_a_run_a_checkpoint_and_a_model_directory_hold_the_same_model(run_dir: Path, model_directory: Path) -> None:
    of_run = TrainedModel.read(run_dir)
    of_file = TrainedModel.read(str(run_dir / "checkpoints" / "model.ckpt"))
    shipped = TrainedModel.read(model_directory)
    assert of_run.path == of_file.path == run_dir / "checkpoints" / "model.ckpt"
    assert shipped.path == model_directory
    expected = CONTENT.weights
    for model in (of_run, of_file, shipped):
        assert model.config.decoding.beam_size == 3
        assert model.config.model == of_run.config.model
        assert model.tokenizer.fingerprint == CONTENT.tokenizer_sha256
        built = model.build().state_dict()
        assert built.keys() == expected.keys()
        assert all(torch.equal(built[name], weight) for name, weight in expected.items())


def test_fingerprints_tell_models_apart(run_dir: Path, model_directory: Path, tmp_path: Path) -> None:
    other = TrainedModel.read(write_run(tmp_path / "other", model_content(seed=4)))
    same = TrainedModel.read(run_dir / "checkpoints" / "model.ckpt")
    shipped = TrainedModel.read(model_directory)
    assert TrainedModel.read(run_dir).fingerprint == same.fingerprint
    assert len({same.fingerprint, other.fingerprint, shipped.fingerprint}) == 3
    assert TrainedModel.read(model_directory).fingerprint == shipped.fingerprint
    (model_directory / "SHA256SUMS").unlink()
    weights = model_directory / "ctranslate2" / "model.bin"
    weights.parent.mkdir()
    weights.write_bytes(b"weights")
    assert TrainedModel.read(model_directory).fingerprint != shipped.fingerprint


def test_a_tilde_is_the_home_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("~/none", "hf:~/none"):
        with pytest.raises(CheckpointError, match=f"^{tmp_path}/none: no such run directory or checkpoint"):
            TrainedModel.read(name)


def test_a_model_for_ctranslate2_alone_cannot_be_built(model_directory: Path) -> None:
    (model_directory / "ctranslate2").mkdir()
    for name in ("model.safetensors", "SHA256SUMS"):
        (model_directory / name).unlink()
    model = TrainedModel.read(model_directory)
    assert not model.weights
    with pytest.raises(CheckpointError, match="holds weights for CTranslate2 only; give the run"):
        model.build()


def other_tokenizer() -> Tokenizer:
    config = dataclasses.replace(RunConfig().tokenizer, vocab_size=290)
    return Tokenizer.train(["a completely different text", "with other words"], config)


def as_tensor(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def without_decoder() -> dict[str, torch.Tensor]:
    return {f"model.{name}": weight for name, weight in CONTENT.weights.items() if "decoder" not in name}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"tokenizer_sha256": "0" * 64}, TokenizerError, "not the one that the model was trained with"),
        ({"tokenizer": as_tensor(b"no model")}, TokenizerError, "model.ckpt: not a SentencePiece model"),
        ({"tokenizer": "bytes"}, CheckpointError, "its tokenizer is not stored as bytes"),
        ({"tokenizer": torch.zeros(3)}, CheckpointError, "its tokenizer is not stored as bytes"),
        (
            {
                "tokenizer": as_tensor(other_tokenizer().proto),
                "tokenizer_sha256": other_tokenizer().fingerprint,
            },
            TokenizerError,
            "embedding table has 320 rows and the tokenizer 290 pieces",
        ),
        ({"state_dict": {}}, CheckpointError, "holds no weights of a Transformer"),
        ({"state_dict": ["a list"]}, CheckpointError, "holds no weights of a Transformer"),
        ({"state_dict": without_decoder()}, CheckpointError, "weights do not fit its own configuration"),
        ({"config": LARGE}, CheckpointError, "the configuration is of a larger model"),
        ({"config": ["a list"]}, CheckpointError, "(?s)not one of this version.*the configuration is a list"),
        ({"config": {"model": {"d_modle": 8}}}, CheckpointError, "(?s)not one of this version.*d_modle"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    state_dict = {f"model.{name}": weight for name, weight in CONTENT.weights.items()}
    write_checkpoint({**description_of(CONTENT), "state_dict": state_dict, **changes}, tmp_path / "model.ckpt")
    with pytest.raises(error, match=message):
        TrainedModel.read(tmp_path / "model.ckpt").build()
