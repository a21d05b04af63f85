"""The model directory of a finished run, for a tracker that keeps models."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.model_card import model_card
from seq2seq.artifacts.model_directory import write_model_directory, write_safetensors
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.errors import UserError
from seq2seq.model.transformer import Transformer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Product:
    """A model directory that a run has made, and what W&B shows of it."""

    name: str
    directory: Path
    facts: Mapping[str, Any]


def shipped(config: RunConfig, run: RunDirectory, model: Transformer) -> Product | None:
    """Write the selected weights as `python -m seq2seq export` does. None if that fails: the run has ended well.

    Args:
        model: of this run, with any weights.
    """
    directory = run.export / "safetensors"
    try:
        saved = read_checkpoint(run.selected).model
        vocab_size = len(model.embeddings.source)
        lines = ["`model.safetensors`: weights for PyTorch"]
        card = model_card(config, model.n_parameters, vocab_size, lines, run, saved.seen)
        write_model_directory(
            directory,
            saved,
            card,
            lambda building: write_safetensors(building, saved.weights, saved.tokenizer_sha256),
            overwrite=True,
        )
        selection, tests = run.selection(), run.scores()
    except (UserError, OSError) as error:
        log.warning("no model for the trackers: %s", error)
        return None
    facts = {
        "selected": selection.selected,
        "step": selection.step,
        "tokenizer": saved.tokenizer_sha256,
        "scores": {
            test: {metric: {"score": found.score, "signature": found.signature} for metric, found in scores.items()}
            for test, scores in tests.items()
        },
    }
    return Product(artifact_name(config.name, config.data.src_lang, config.data.tgt_lang), directory, facts)


def artifact_name(*parts: str) -> str:
    """A name that W&B accepts."""
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", "-".join(parts))[:120]
