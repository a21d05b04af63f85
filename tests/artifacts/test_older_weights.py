"""Models of before queries, keys and values had a matrix each."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from seq2seq.artifacts.checkpoint import description_of, resumable, write_checkpoint, write_model
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError
from seq2seq.model.transformer import Transformer
from tests.translation.engines.models import random_model, run_content

OTHER = {"activation": "swiglu", "n_kv_heads": 1, "d_head": 6, "d_value": 5, "bias": True}


def joined(model: Transformer) -> dict[str, Tensor]:
    """The weights of a model, as older versions named and arranged them."""
    found: dict[str, Tensor] = {}
    for name, weight in model.state_dict().items():
        *layer, linear, kind = name.split(".")
        if "self_attention" in layer and linear in ("to_q", "to_k", "to_v"):
            linear = "to_qkv"
        elif linear in ("to_k", "to_v"):
            linear = "to_kv"
        elif linear in ("to_gate", "to_value"):
            linear = "to_gate_and_value"
        name = ".".join([*layer, linear, kind])
        found[name] = torch.cat([found[name], weight]) if name in found else weight
    return found


@pytest.mark.parametrize("changes", [{}, OTHER], ids=str)
def test_their_checkpoints_are_the_same_model(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = random_model(**changes)
    saved = dataclasses.replace(run_content(model), weights=joined(model))
    assert saved.weights.keys() != model.state_dict().keys()
    write_model(saved, tmp_path / "model.ckpt", step=7, format_version=1)
    found = TrainedModel.read(tmp_path / "model.ckpt").build().state_dict()
    assert found.keys() == model.state_dict().keys()
    assert all(torch.equal(weight, model.state_dict()[name]) for name, weight in found.items())


def test_no_run_goes_on_from_them(tmp_path: Path) -> None:
    model, run = random_model(), RunDirectory(tmp_path)
    run.checkpoints.mkdir()
    weights = {f"model.{name}": weight for name, weight in joined(model).items()}
    state = {"state_dict": weights, "optimizer_states": [{}], "position": {"world_size": 1}, "format_version": 1}
    write_checkpoint({**description_of(run_content(model)), **state}, run.last)
    with pytest.raises(CheckpointError, match=r"last\.ckpt: an older version of seq2seq began this run.*finetune="):
        resumable(run)
