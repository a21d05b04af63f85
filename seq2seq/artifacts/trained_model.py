"""A trained model in any of its forms: a run directory, a checkpoint file, or a model directory."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seq2seq.artifacts.checkpoint import find_model, read_checkpoint, tensor_to_bytes
from seq2seq.artifacts.model_directory import CTRANSLATE2, WEIGHTS, is_model_directory, read_model_directory
from seq2seq.config import RunConfig, read_config
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer

_PREFIX = "model."  # of the Transformer inside the module that training saves


@dataclass(frozen=True)
class TrainedModel:
    """What was read; `read` checks that its parts belong together.

    Attributes:
        path: the checkpoint file or model directory.
        content: as `checkpoint.read_checkpoint` gives it.
    """

    path: Path
    content: Mapping[str, Any]
    config: RunConfig
    tokenizer: Tokenizer
    weights: Mapping[str, Tensor]  # of the Transformer under its own names; none if there are only CTranslate2's

    @classmethod
    def read(cls, path: str | Path) -> "TrainedModel":
        """
        Args:
            path: of a run directory the selected model is taken, else the best, else the last one.
        Raises:
            CheckpointError: no model, or a damaged one.
            TokenizerError: the tokenizer inside is not the one that the weights were trained with.
        """
        path = Path(path)
        if is_model_directory(path):
            content = read_model_directory(path)
        else:
            path = find_model(path)
            content = read_checkpoint(path)
        tokenizer = _tokenizer(content, path)
        weights = _weights(content["state_dict"], path)
        if not weights and not (path / CTRANSLATE2).is_dir():
            raise CheckpointError(f"{path}: holds no weights of a Transformer, so this project did not write it")
        for name, weight in weights.items():
            if name.startswith("embeddings.tables.") and len(weight) != tokenizer.vocab_size:
                raise TokenizerError(
                    f"{path}: the embedding table has {len(weight)} rows and the tokenizer {tokenizer.vocab_size} "
                    "pieces, so they are not from one run; take another checkpoint"
                )
        return cls(path, content, _config(content["config"], path), tokenizer, weights)

    def build(self) -> Transformer:
        """The model, on the CPU.

        Raises:
            CheckpointError: there are no weights for PyTorch, or they do not fit the configuration.
        """
        if not self.weights:
            raise CheckpointError(f"{self.path}: holds weights for CTranslate2 only; give the run that it came from")
        model = Transformer(self.config.model, self.tokenizer.vocab_size)
        try:
            model.load_state_dict(self.weights)
        except RuntimeError as error:
            raise CheckpointError(
                f"{self.path}: its weights do not fit its own configuration, so it was changed after training or "
                f"written by another version; take another checkpoint [{' '.join(str(error).split())[:200]}]"
            ) from error
        return model

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the files with the weights: two models with the same one translate alike."""
        digest = hashlib.sha256()
        candidates = (self.path, self.path / WEIGHTS, self.path / CTRANSLATE2 / "model.bin")
        for file in candidates:
            if file.is_file():
                with file.open("rb") as stream:
                    while block := stream.read(1 << 20):
                        digest.update(block)
        return digest.hexdigest()


def _config(content: Any, path: Path) -> RunConfig:
    if not isinstance(content, Mapping):
        raise CheckpointError(f"{path}: its config is a {type(content).__name__}, so this project did not write it")
    try:
        return read_config(content)
    except ConfigError as error:
        raise CheckpointError(
            f"{path}: its configuration is not one of this version of seq2seq: {error}\n"
            "Use it with the version that trained it."
        ) from error


def _tokenizer(content: Mapping[str, Any], path: Path) -> Tokenizer:
    stored = content["tokenizer"]
    if not isinstance(stored, Tensor) or stored.dtype != torch.uint8:
        raise CheckpointError(f"{path}: its tokenizer is not stored as bytes, so this project did not write it")
    try:
        tokenizer = Tokenizer.from_bytes(tensor_to_bytes(stored))
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from error
    if tokenizer.fingerprint != content["tokenizer_sha256"]:
        raise TokenizerError(
            f"{path}: the tokenizer inside (SHA-256 {tokenizer.fingerprint[:12]}...) is not the one that the model "
            f"was trained with ({str(content['tokenizer_sha256'])[:12]}...); take another checkpoint of the run"
        )
    return tokenizer


def _weights(state_dict: Any, path: Path) -> dict[str, Tensor]:
    if not isinstance(state_dict, Mapping):
        raise CheckpointError(f"{path}: holds no weights of a Transformer, so this project did not write it")
    return {
        name.removeprefix(_PREFIX): weight
        for name, weight in state_dict.items()
        if isinstance(name, str) and name.startswith(_PREFIX) and isinstance(weight, Tensor)
    }
