"""The parts of a trained model that both a checkpoint and a model directory store."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.config import RunConfig, kept
from seq2seq.dataset.seen import SeenText
from seq2seq.errors import CheckpointError
from seq2seq.tokenizer import Tokenizer

if TYPE_CHECKING:  # a model for CTranslate2 is read without torch
    from torch import Tensor

_SEEN = "seen"


@dataclass(frozen=True)
class SavedModel:
    """All that is needed to translate.

    Attributes:
        config: configuration of the run, as plain containers; `read_config` makes it a `RunConfig`.
        tokenizer: a SentencePiece model.
        tokenizer_sha256: SHA-256 of the tokenizer that the weights were trained with.
        weights: weights of the Transformer, by name; empty if there are those for CTranslate2 only.
        seen: what the text was like that the weights were trained on; None if an older version saved the model.
    """

    config: Mapping[str, Any]
    tokenizer: bytes
    tokenizer_sha256: str
    weights: Mapping[str, "Tensor"]
    seen: SeenText | None = None

    @classmethod
    def of(
        cls, config: RunConfig, tokenizer: Tokenizer, weights: Mapping[str, "Tensor"], seen: SeenText | None = None
    ) -> "SavedModel":
        """The parts to store of a model in memory."""
        return cls(kept(config), tokenizer.proto, tokenizer.fingerprint, weights, seen)

    @property
    def stored_facts(self) -> dict[str, Any]:
        """The field that keeps `seen` in each form on disk; none if there is nothing to keep."""
        return {_SEEN: asdict(self.seen)} if self.seen is not None else {}


def read_seen(content: Mapping[str, Any], path: Path) -> SeenText | None:
    """What `stored_facts` put beside the other fields of a model; None if an older version saved it.

    Args:
        path: where `content` comes from.
    Raises:
        CheckpointError: the field holds something else.
    """
    if (stored := content.get(_SEEN)) is None:
        return None
    try:
        return SeenText.from_json(json.loads(json.dumps(stored)))  # a checkpoint can also hold tensors
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path}: its {_SEEN!r} is {error}, so it was changed after training; restore the file"
        ) from error
