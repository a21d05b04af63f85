"""The parts of a trained model that both a checkpoint and a model directory store."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from seq2seq.config import RunConfig
from seq2seq.tokenizer import Tokenizer

if TYPE_CHECKING:  # a model for CTranslate2 is read without torch
    from torch import Tensor


@dataclass(frozen=True)
class SavedModel:
    """All that is needed to translate.

    Attributes:
        config: configuration of the run, as plain containers; `read_config` makes it a `RunConfig`.
        tokenizer: a SentencePiece model.
        tokenizer_sha256: SHA-256 of the tokenizer that the weights were trained with.
        weights: weights of the Transformer, by name; empty if there are weights for CTranslate2 only.
    """

    config: Mapping[str, Any]
    tokenizer: bytes
    tokenizer_sha256: str
    weights: Mapping[str, "Tensor"]

    @classmethod
    def of(cls, config: RunConfig, tokenizer: Tokenizer, weights: Mapping[str, "Tensor"]) -> "SavedModel":
        """The parts to store of a model in memory."""
        return cls(asdict(config), tokenizer.proto, tokenizer.fingerprint, weights)
