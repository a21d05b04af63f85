"""A model directory: what one ships.

    config.json          the configuration of the run, and the SHA-256 of the tokenizer
    tokenizer.model      SentencePiece
    README.md            what the model is, what it scored, how to use it
    model.safetensors    weights for PyTorch, or
    ctranslate2/         weights for CTranslate2, which can also be used without this project; or both

It appears whole or not at all, and reading it runs no code from it.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from seq2seq.artifacts.checkpoint import bytes_to_tensor, tensor_to_bytes
from seq2seq.errors import CheckpointError

CONFIG = "config.json"
TOKENIZER = "tokenizer.model"
README = "README.md"
WEIGHTS = "model.safetensors"
CTRANSLATE2 = "ctranslate2"

FORMAT = "seq2seq model directory"
FORMAT_VERSION = 1
_PATHS = {"": ("run_dir", "resume"), "data": ("dir", "cache_dir"), "logger": ("wandb_entity", "wandb_group")}
_BUNDLED = "bundled:"  # a `data.dir` that means the same on every machine


def is_model_directory(path: Path) -> bool:
    """Whether `path` is what `write_model_directory` writes, be it damaged or not."""
    try:
        content = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_model_directory(path: Path) -> dict[str, Any]:
    """The content of a model directory, as `checkpoint.read_checkpoint` gives that of a checkpoint.

    Returns:
        `config` (plain containers), `tokenizer` (uint8), `tokenizer_sha256` and `state_dict`. The last is
        empty where there are weights for CTranslate2 only, and memory-mapped otherwise.
    Raises:
        CheckpointError: a file that is missing, damaged, or not from the same model as the others.
    """
    file = path / CONFIG
    try:
        content = json.loads(_read(file))
    except ValueError as error:
        raise CheckpointError(f"{file}: is not JSON, so it is damaged; export the model again") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(
            f"{file}: does not describe a model of this project; make one with python -m seq2seq export"
        )
    if content.get("format_version") != FORMAT_VERSION:
        raise CheckpointError(
            f"{file}: has format version {content.get('format_version')} and this version of seq2seq reads "
            f"{FORMAT_VERSION}; install the seq2seq that wrote it, or export the model again"
        )
    if missing := [name for name in ("config", "tokenizer_sha256") if name not in content]:
        raise CheckpointError(f"{file}: has no {', '.join(missing)}, so it was changed; export the model again")
    weights = path / WEIGHTS
    if not weights.exists() and not (path / CTRANSLATE2).is_dir():
        raise CheckpointError(f"{path}: has neither {WEIGHTS} nor {CTRANSLATE2}/, so it is not whole; copy it again")
    tokenizer = _read(path / TOKENIZER)
    if hashlib.sha256(tokenizer).hexdigest() != content["tokenizer_sha256"]:
        raise CheckpointError(
            f"{path / TOKENIZER}: is damaged, or not the tokenizer that {CONFIG} names; copy all files of the "
            "directory again"
        )
    return {
        "config": content["config"],
        "tokenizer": bytes_to_tensor(tokenizer),
        "tokenizer_sha256": content["tokenizer_sha256"],
        "state_dict": _weights(weights, content["tokenizer_sha256"]) if weights.exists() else {},
    }


def write_model_directory(
    path: Path,
    content: Mapping[str, Any],
    readme: str,
    write_weights: Callable[[Path], None],
    *,
    overwrite: bool = False,
) -> None:
    """Write a model directory, whole or not at all.

    Args:
        content: `config`, `tokenizer` and `tokenizer_sha256`, as in a checkpoint. Paths of this machine are left out.
        readme: the model card, in Markdown.
        write_weights: is given the directory under a temporary name, with all other files in it. It may also check
            what it wrote: if it raises, nothing is left behind.
        overwrite: replace a model directory of that name.
    Raises:
        CheckpointError: the target cannot be written, or it exists and is not a model directory, or `overwrite` was not
            asked for.
    """
    if path.exists() and not (overwrite and is_model_directory(path)):
        remedy = "add --force to replace it" if is_model_directory(path) else "choose another --output"
        raise CheckpointError(f"{path}: exists already{'' if overwrite else ', and is kept'}; {remedy}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A sibling, since a rename from another file system would be a copy.
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"))
        try:
            _write_json(temporary / CONFIG, _description(content))
            (temporary / TOKENIZER).write_bytes(tensor_to_bytes(content["tokenizer"]))
            (temporary / README).write_text(readme, encoding="utf-8")
            write_weights(temporary)
            _to_disk(temporary)
            _publish(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be written ({error.strerror or error}); choose another --output"
        ) from error


def write_safetensors(directory: Path, state_dict: Mapping[str, Tensor], tokenizer_sha256: str) -> None:
    """Store the weights of a model directory."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state_dict.items()}
    save_file(tensors, directory / WEIGHTS, metadata={"format": "pt", "tokenizer_sha256": tokenizer_sha256})


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"{file}: cannot be read ({error.strerror or error}); a model directory needs it, so copy it again or "
            "export the model again"
        ) from error


def _weights(file: Path, tokenizer_sha256: str) -> dict[str, Tensor]:
    try:
        with safe_open(file, framework="pt", device="cpu") as stored:
            metadata = stored.metadata() or {}
            weights = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  # not a dict
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{file}: not a whole safetensors file (copied in part?); copy it again or export the model again "
            f"[{type(error).__name__}]"
        ) from error
    if metadata.get("tokenizer_sha256") != tokenizer_sha256:
        raise CheckpointError(
            f"{file}: these weights were trained with another tokenizer than {CONFIG} names, so they come from another "
            "model directory; copy all files of one"
        )
    return weights


def _description(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tokenizer_sha256": content["tokenizer_sha256"],
        "config": portable(content["config"]),
    }


def portable(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without what is true of one machine or account only."""
    plain: dict[str, Any] = json.loads(json.dumps(config))
    for section, names in _PATHS.items():
        part = plain.get(section, {}) if section else plain
        for name in names:
            if not str(part.get(name, "")).startswith(_BUNDLED):
                part[name] = ""
    for split in ("train", "valid", "test"):
        plain["data"][split] = _without_folders(plain["data"][split])
    return plain


def _without_folders(source: Any) -> Any:
    """Names of files in place of absolute paths, wherever they are in a source of text."""
    if isinstance(source, Mapping):
        return {key: _without_folders(value) for key, value in source.items()}
    if isinstance(source, list):
        return [_without_folders(value) for value in source]
    if isinstance(source, str) and source.startswith(("/", "~")):
        return Path(source).name
    return source


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _to_disk(directory: Path) -> None:
    """Wait until all that is below `directory` would survive a power failure, and give it the usual permissions."""
    umask = os.umask(0)
    os.umask(umask)
    directory.chmod(0o777 & ~umask)  # mkdtemp's 0700 would hide a shared model from colleagues
    for file in directory.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())


def _publish(temporary: Path, path: Path) -> None:
    """Give the directory its name; one that had it before goes, but comes back if that fails."""
    old = temporary.with_suffix(".old")
    if path.exists():
        path.rename(old)
    try:
        temporary.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
    if hasattr(os, "O_DIRECTORY"):  # the rename itself reaches the disk with its directory
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)
