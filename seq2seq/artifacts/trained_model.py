"""A trained model in any of its forms: a run directory, a checkpoint file, a model directory, or Marian's form."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.artifacts.model_directory import (
    CONFIG,
    CTRANSLATE2,
    PICKLED,
    SHORTLIST,
    WEIGHTS,
    is_of_transformers,
    read_model_directory,
)
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.artifacts.wandb_access import is_reference, local_model
from seq2seq.config import RunConfig, read_config
from seq2seq.dataset.seen import SeenText
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError
from seq2seq.files import expanded
from seq2seq.tokenizer import Tokenizer

HUGGING_FACE = "hf:"  # may begin the path of a model of `transformers`

if TYPE_CHECKING:  # torch takes seconds to import, and CTranslate2 needs none
    from torch import Tensor

    from seq2seq.model.transformer import Transformer


@dataclass(frozen=True)
class TrainedModel:
    """A model read from disk, with the configuration and the tokenizer that it was trained with.

    Attributes:
        path: the checkpoint file or model directory that it was read from.
    """

    path: Path
    saved: SavedModel
    config: RunConfig
    tokenizer: Tokenizer

    @classmethod
    def read(cls, path: str | Path) -> "TrainedModel":
        """Read a model.

        Args:
            path: a run directory, a checkpoint file, a model directory, wandb:ENTITY/PROJECT/NAME:ALIAS or hf:PATH, a
                directory in Marian's form. A run directory gives its selected model, else its best, else its last one.
        Raises:
            CheckpointError: there is no model, or a damaged one.
            TokenizerError: the tokenizer inside is not the one that the weights were trained with.
        """
        path = local_model(str(path)) if is_reference(path) else expanded(str(path).removeprefix(HUGGING_FACE))
        if is_of_transformers(path):
            from seq2seq.artifacts.marian import read_marian  # and torch

            saved = read_marian(path)
        elif (path / CONFIG).exists():  # also a damaged one; a run directory has none
            saved = read_model_directory(path)
        else:
            from seq2seq.artifacts.run_directory import find_model

            path = find_model(path)
            from seq2seq.artifacts.checkpoint import read_checkpoint  # and torch: a wrong path does not wait for it

            saved = read_checkpoint(path).model
        return cls(path, saved, _config(saved.config, path), _tokenizer(saved, path))

    @property
    def weights(self) -> Mapping[str, "Tensor"]:
        """Weights of the model, by name; empty if there are weights for CTranslate2 only."""
        return self.saved.weights

    @property
    def seen(self) -> SeenText | None:
        """What the text was like that the model was trained on; None if an older version saved the model."""
        return self.saved.seen

    def build(self, attention: str = "") -> "Transformer":
        """The model, on the CPU.

        Args:
            attention: soft or hard; empty: as it was trained.
        Raises:
            CheckpointError: there are no weights for PyTorch, or they do not fit the configuration.
            TokenizerError: the weights do not fit the tokenizer.
        """
        from seq2seq.model.transformer import Transformer

        sizes = self.config.model
        if attention:
            sizes = replace(sizes, hard_attention=attention == "hard")
        if not self.weights:
            raise CheckpointError(f"{self.path}: holds weights for CTranslate2 only; give the run that it came from")
        weights = dict(self.weights)  # those of a model directory are read each time that they are asked for
        for name, weight in weights.items():
            if name.startswith("embeddings.tables.") and len(weight) != self.tokenizer.vocab_size:
                raise TokenizerError(
                    f"{self.path}: the embedding table has {len(weight)} rows and the tokenizer "
                    f"{self.tokenizer.vocab_size} pieces, so they are not from one run; take another checkpoint"
                )
        try:
            # Before memory is taken for it. A view or a tensor without values can seem larger than what is stored.
            n_stored = sum(w.numel() for w in weights.values() if w.device.type == "cpu" and w.is_contiguous())
            if sizes.n_weights_at_least > n_stored:
                raise ValueError("the configuration is of a larger model")
            model = Transformer(sizes, self.tokenizer.vocab_size)
            model.load_state_dict(weights)
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:
            raise CheckpointError(
                f"{self.path}: its weights do not fit its own configuration, so it was changed after training or "
                f"written by another version; take another checkpoint [{' '.join(str(error).split())[:200]}]"
            ) from error
        return model

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the files with the weights. Models with the same fingerprint translate alike."""
        digest = hashlib.sha256()
        names = (WEIGHTS, PICKLED, f"{CTRANSLATE2}/model.bin", SHORTLIST)
        candidates = (self.path, *(self.path / name for name in names))
        for file in candidates:
            if file.is_file():
                with file.open("rb") as stream:
                    while block := stream.read(1 << 20):
                        digest.update(block)
        return digest.hexdigest()


def _config(content: Any, path: Path) -> RunConfig:
    try:
        return read_config(content)
    except ConfigError as error:
        where = f"{path}: its configuration is not one of this version of seq2seq"
        remedy = "use it with the version that trained it"
        raise CheckpointError("\n".join(f"{where}: {problem}; {remedy}" for problem in error.problems)) from error


def _tokenizer(saved: SavedModel, path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer(saved.tokenizer)
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from error
    if tokenizer.fingerprint != saved.tokenizer_sha256:
        raise TokenizerError(
            f"{path}: the tokenizer inside (SHA-256 {tokenizer.fingerprint[:12]}...) is not the one that the model "
            f"was trained with ({saved.tokenizer_sha256[:12]}...); take another checkpoint of the run"
        )
    return tokenizer
