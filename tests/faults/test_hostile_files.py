"""What somebody else wrote, in the form of our files and with values of their own, is used or refused in one sentence.

It runs no code, takes no memory that its size does not explain, and names nothing of this machine.
"""

import copy
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.artifacts.checkpoint import description_of, write_checkpoint
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError, UserError
from tests.faults.many import COSTLY_FAULTS
from tests.translating import model_content

pytestmark = pytest.mark.slow

CONTENT = model_content()

NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 1, 2**31, 2**63, 2**64, 10**30, 1e308])
TEXTS = st.text(max_size=20) | st.sampled_from(["", "???", "${", "${seed}", "${oc.env:HOME}", "null", "../x", "\x00"])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(SCALARS, lambda each: st.lists(each, max_size=3) | st.dictionaries(TEXTS, each, max_size=3))


def places(value: Any, place: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The keys that lead to each value of nested mappings."""
    found = [place]
    if isinstance(value, dict):
        for name, each in value.items():
            found += places(each, (*place, name))
    return found


PLACES = places(CONTENT.config)


def changed(place: tuple[str, ...], value: Any) -> Any:
    """The configuration of a model with another value in one place."""
    if not place:
        return value
    config = copy.deepcopy(dict(CONTENT.config))
    section = config
    for name in place[:-1]:
        section = section[name]
    section[place[-1]] = value
    return config


@COSTLY_FAULTS
@given(place=st.sampled_from(PLACES), value=VALUES)
@example(place=("model", "d_model"), value=2**30)
@example(place=("model", "d_ff"), value=2**40)
@example(place=("model", "max_length"), value=2**40)
@example(place=("model", "n_encoder_layers"), value=2**40)
@example(place=("model", "n_decoder_layers"), value=10**9)
@example(place=("data", "test"), value={"a": {"src": 3, "tgt": []}})
@example(place=("data", "train"), value={"source": {"source": "a", "tag": "b"}, "tag": None})
@example(place=("name",), value="\ud800")
def test_the_configuration_of_a_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str, ...], value: Any
) -> None:
    refused_or_built(tmp_path_factory, {"config": changed(place, value)})


class Huge:
    """What `weights_only` makes of a few bytes: a gigabyte."""

    def __reduce__(self) -> tuple[Any, ...]:
        return bytearray, (2**30,)


def nested(value: Any) -> Any:
    """A thousand of it. With ten levels in place of three, these few bytes would be ten thousand million."""
    for _ in range(3):
        value = [value] * 10
    return value


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("global_step", Huge(), "asks for '__builtin__ bytearray'"),
        ("config", {"name": nested("a")}, "a value stands in two places"),
        ("state_dict", {f"model.{name}": next(iter(CONTENT.weights.values())) for name in "ab"}, "two places"),
        ("seen", [(nested(1),)], "two places"),
        ("state_dict", {"model.a": torch.zeros(1).expand(2**50)}, "more numbers than are stored"),
    ],
    ids=["bytes", "configuration", "weights", "tuples", "repeated"],
)
def test_a_small_checkpoint_that_would_fill_the_memory(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: Any, reason: str
) -> None:
    with pytest.raises(CheckpointError, match=rf"hostile\.ckpt: .*{reason}.* this project did not write it$"):
        TrainedModel.read(written(tmp_path_factory, {field: value}))


def tensors() -> st.SearchStrategy[torch.Tensor]:
    made = [torch.zeros(3), torch.zeros(0), torch.ones(3, dtype=torch.uint8), torch.ones(2, 2).to_sparse()]
    made += [torch.zeros(1, dtype=dtype).expand(2**50) for dtype in (torch.float32, torch.uint8)]
    made += [torch.zeros(3, device="meta"), torch.full((3,), torch.nan)]
    return st.sampled_from(made)


FIELDS = ("format_version", "config", "tokenizer", "tokenizer_sha256", "state_dict", "seen", "global_step", "wandb_id")


@COSTLY_FAULTS
@given(
    field=st.sampled_from(FIELDS),
    value=VALUES | tensors() | st.dictionaries(st.sampled_from(["a", "model.w"]), tensors() | SCALARS, max_size=3),
)
def test_a_field_of_a_checkpoint(tmp_path_factory: pytest.TempPathFactory, field: str, value: Any) -> None:
    refused_or_built(tmp_path_factory, {field: value})


@COSTLY_FAULTS
@given(name=st.sampled_from(sorted(CONTENT.weights)), value=tensors() | SCALARS)
def test_a_weight_of_a_checkpoint(tmp_path_factory: pytest.TempPathFactory, name: str, value: Any) -> None:
    weights = {f"model.{each}": weight for each, weight in CONTENT.weights.items()}
    refused_or_built(tmp_path_factory, {"state_dict": weights | {f"model.{name}": value}})


def written(factory: pytest.TempPathFactory, changes: dict[str, Any]) -> Path:
    """A checkpoint with other fields."""
    path: Path = factory.getbasetemp() / "hostile.ckpt"
    weights = {f"model.{each}": weight for each, weight in CONTENT.weights.items()}
    write_checkpoint({**description_of(CONTENT), "state_dict": weights, "global_step": 1, **changes}, path)
    return path


def refused_or_built(factory: pytest.TempPathFactory, changes: dict[str, Any]) -> None:
    path = written(factory, changes)
    with suppress(UserError):
        TrainedModel.read(path).build()
