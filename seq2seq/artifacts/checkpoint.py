"""Checkpoints: written whole or not at all, verified when they are read, and never read by unpickling code.

A checkpoint is a file that `torch.save` writes: a zip archive whose members each have a CRC-32, which torch itself does
not compare. It holds only tensors and plain containers:

    format_version      version of this list of fields
    config              configuration of the run, as plain containers
    tokenizer           a SentencePiece model, as uint8
    tokenizer_sha256    SHA-256 of the tokenizer that the weights were trained with
    state_dict          weights; the names of those of the Transformer begin with `model.`
    seen                what the training text was like (dataset/seen.py); missing in those of older versions
    global_step         optimizer steps done
    position            steps done and of an epoch, number of processes, and that with which the run began
    provenance          where the run comes from, for people (artifacts/provenance.py); missing in older ones
    wandb_id            id of the W&B run; empty or missing if there is none
    metrics             in `best.ckpt` and `best-STEP.ckpt`: those of the validation of these weights
    selected, valid     in `model.ckpt`: the weights that won, and what all candidates scored on valid

A checkpoint to resume from also holds the state of Lightning and of the callbacks in `training/`.
"""

import io
import logging
import pickle
import pickletools
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.saved_model import SavedModel, read_seen
from seq2seq.errors import CheckpointError, RunError
from seq2seq.files import atomic_file

FORMAT_VERSION = 2
FIELDS = ("config", "tokenizer", "tokenizer_sha256", "state_dict")
_PREFIX = "model."  # begins the names of the Transformer's weights
# What the pickle in our checkpoints asks for. `weights_only` lets through more, such as a `bytearray` of any size.
_PICKLED = re.compile(r"torch\._utils _rebuild_tensor_v2|collections OrderedDict|torch \w+Storage")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint, on the CPU. Lightning reads its own state from the file itself."""

    path: Path
    model: SavedModel
    step: int  # optimizer steps done
    wandb_id: str  # empty if there is none
    is_state: bool  # whether a run can go on from it; else it holds a model alone
    position: Mapping[str, int]  # in the batches of the run; empty if no run can go on from it


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; its weights are memory-mapped.

    All of the file is compared with its checksums first, which takes about a second for each GB.

    Raises:
        CheckpointError: the file is missing, unreadable, damaged anywhere, cut off, of another version, or not written
            by this project.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no such checkpoint; give a run directory or a .ckpt file inside it")
    try:
        _verify(path)
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from error
    except CheckpointError:
        raise
    except Exception as error:  # both fail in many ways on what is not a whole checkpoint
        raise CheckpointError(
            f"{path}: not a checkpoint, or not a whole one (copied in part?); train again or take another checkpoint "
            f"of the run [{type(error).__name__}]"
        ) from error
    if reason := _sharing(content):
        raise CheckpointError(f"{path}: {reason}, so this project did not write it")
    _check(content, path)
    weights = {
        name.removeprefix(_PREFIX): weight
        for name, weight in content["state_dict"].items()
        if isinstance(name, str) and name.startswith(_PREFIX) and isinstance(weight, Tensor)
    }
    if not weights:
        raise CheckpointError(f"{path}: holds no weights of a Transformer, so this project did not write it")
    tokenizer = bytes(content["tokenizer"].numpy())
    sha256 = str(content["tokenizer_sha256"])
    model = SavedModel(content["config"], tokenizer, sha256, weights, read_seen(content, path))
    step, wandb_id = int(content.get("global_step", 0)), str(content.get("wandb_id", ""))
    is_state, position = "optimizer_states" in content, content.get("position", {})
    return Checkpoint(path, model, step, wandb_id, is_state, position)


def read_state(path: Path) -> dict[str, Any]:
    """All fields of a checkpoint, for a run that goes back to it.

    Raises:
        CheckpointError: as `read_checkpoint`.
    """
    read_checkpoint(path)
    content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return content


def _verify(path: Path) -> None:
    """Compare every member of the archive with its checksum.

    Raises:
        CheckpointError: one differs, or is stored in a way that `torch.save` does not use: a small compressed member
            could fill the memory.
        Exception: the file is no zip archive, or not a whole one.
    """
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise CheckpointError(f"{path}: {member.filename!r} is compressed, so this project did not write it")
        if damaged := archive.testzip():
            raise CheckpointError(
                f"{path}: is damaged ({damaged!r} differs from its checksum); copy it again, or take another "
                "checkpoint of the run"
            )
        for name in (name for name in archive.namelist() if name.endswith(".pkl")):
            if wanted := _not_ours(archive.read(name)):
                raise CheckpointError(f"{path}: asks for {wanted!r}, so this project did not write it")


def _not_ours(pickled: bytes) -> str:
    """The first name that a pickle asks for, and none of ours does; empty if there is none."""
    for operation, wanted, _ in pickletools.genops(pickled):
        if "GLOBAL" in operation.name and not _PICKLED.fullmatch(str(wanted)):
            return str(wanted)
    return ""


class _WithoutTensors(pickle.Pickler):
    def persistent_id(self, value: Any) -> str | None:
        return "a tensor" if type(value) is Tensor else None


def why_refused(content: object) -> str:
    """Why `read_checkpoint` would refuse a file that held this; empty if it would not."""
    file = io.BytesIO()
    try:
        _WithoutTensors(file, protocol=torch.serialization.DEFAULT_PROTOCOL).dump(content)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return str(error)
    return _not_ours(file.getvalue()) or _sharing(content)


def _sharing(content: object) -> str:
    """Whether a list, a mapping or the numbers of a tensor stand in two places, as a reason; empty if none does.

    Each number stands once in a file of ours. Where many values share one, a small file would fill the memory.
    """
    seen: set[int] = set()
    found = [content]
    while found:
        value = found.pop()
        if isinstance(value, Tensor):
            is_plain = value.layout == torch.strided and not value.is_meta
            if not is_plain or value.numel() * value.element_size() > value.untyped_storage().nbytes():
                return "a tensor has more numbers than are stored"
            address = value.untyped_storage().data_ptr() if value.numel() else None
        elif isinstance(value, Mapping | list | tuple):
            inside = list(value.values() if isinstance(value, Mapping) else value)
            found += inside
            is_pair = isinstance(value, tuple) and len(value) == 2  # Adam's betas, which torch itself shares
            address = None if is_pair and all(isinstance(each, float) for each in inside) else id(value)
        else:
            continue
        if address in seen:
            return "a value stands in two places of it"
        if address is not None:
            seen.add(address)
    return ""


def description_of(model: SavedModel) -> dict[str, Any]:
    """The fields of a checkpoint that describe the model: all but its weights."""
    return {
        "format_version": FORMAT_VERSION,
        "config": dict(model.config),
        "tokenizer": torch.frombuffer(bytearray(model.tokenizer), dtype=torch.uint8),
        "tokenizer_sha256": model.tokenizer_sha256,
        **model.stored_facts,
    }


def write_model(model: SavedModel, path: Path, step: int, **more: Any) -> None:
    """Save a checkpoint to translate with, from which no run can be resumed; see `write_checkpoint`.

    Args:
        more: fields for people, which nothing here reads.
    """
    state_dict = {f"{_PREFIX}{name}": weight for name, weight in model.weights.items()}
    write_checkpoint({**description_of(model), "state_dict": state_dict, "global_step": step, **more}, path)


def write_checkpoint(content: Mapping[str, Any], path: Path) -> None:
    """Save tensors and plain containers, whole or not at all.

    Raises:
        OSError: the file cannot be written, for example because the disk is full.
    """
    with atomic_file(path) as file:
        try:
            torch.save(dict(content), file)
        except RuntimeError as error:  # torch hides the OSError behind one about its archive
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None


def is_copy(run: RunDirectory, checkpoint: Checkpoint) -> bool:
    """Whether the directory of a run is a copy of one that is still there. Going on in it makes another run.

    It is known by where its checkpoint was saved, unless that is a relative path which means another place now.
    """
    origin, own = RunDirectory(Path(str(checkpoint.model.config.get("run_dir", "")))), run.identity()
    try:
        known = origin.identity()
        return (
            own is not None
            and known is not None
            and known.id in (own.id, own.copied_from)
            and (not origin.path.samefile(run.path))
        )
    except (OSError, RunError):  # the original is none of our business
        return False


def resumable(run: RunDirectory) -> Checkpoint:
    """The whole training checkpoint of a run that has the most steps; of two with as many, `last.ckpt`.

    Times do not count: a copy is younger than what was saved after it. A warning names each damaged one.

    Raises:
        CheckpointError: there is none. The message says what is wrong with each that was tried.
    """
    if run.path.is_file():
        of_file = RunDirectory.of_checkpoint(run.path)
        raise CheckpointError(f"{run.path}: is a file; resume takes the run directory: resume={of_file.path}")
    found, reasons = [], []
    for file in (run.last, run.previous):
        if file.is_file():
            try:
                checkpoint = read_checkpoint(file)
            except CheckpointError as error:
                reasons.append(str(error))
                continue
            found.append(checkpoint)
    if states := [checkpoint for checkpoint in found if checkpoint.is_state]:
        for reason in reasons:
            logger.warning("skipped a checkpoint: %s", reason)
        latest = max(states, key=lambda checkpoint: checkpoint.step)
        return replace(latest, wandb_id="") if is_copy(run, latest) else latest
    if reasons:
        raise CheckpointError("\n".join([f"{run.path}: no checkpoint of this run is whole", *reasons]))
    raise CheckpointError(f"{run.path}: nothing to resume; {run.checkpoints} holds no {run.last.name}")


def _check(content: Any, path: Path) -> None:
    missing = [name for name in FIELDS if name not in content] if isinstance(content, dict) else list(FIELDS)
    if missing:
        raise CheckpointError(f"{path}: has no {', '.join(missing)}, so this project did not write it")
    if (version := content.get("format_version")) != FORMAT_VERSION:
        raise CheckpointError(
            f"{path}: has format version {version} and this version of seq2seq reads {FORMAT_VERSION}; use the seq2seq "
            "that wrote it"
        )
    tokenizer = content["tokenizer"]
    is_plain = isinstance(tokenizer, Tensor) and tokenizer.layout == torch.strided and tokenizer.device.type == "cpu"
    # A view can repeat a byte without end.
    if not is_plain or tokenizer.dtype != torch.uint8 or not tokenizer.is_contiguous():
        raise CheckpointError(f"{path}: its tokenizer is not stored as bytes, so this project did not write it")
    if not _is_count(content.get("global_step", 0)):
        raise CheckpointError(f"{path}: its global_step is not a number, so this project did not write it")
    position = content.get("position", {})
    is_position = isinstance(position, dict) and all(map(_is_count, position.values()))
    if not is_position or ("optimizer_states" in content and not position.get("world_size")):
        raise CheckpointError(f"{path}: its position is not one in batches, so this project did not write it")
    if not isinstance(content["state_dict"], dict):
        raise CheckpointError(f"{path}: holds no weights of a Transformer, so this project did not write it")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < 2**40
