"""Read and write checkpoints: whole or not at all, and never by unpickling code.

A training checkpoint holds what continues a run; a model checkpoint holds what translates. Both hold `config` (plain
containers), `tokenizer` (its bytes as a uint8 tensor), `tokenizer_sha256` and `state_dict`, so that either is
enough to rebuild the model.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import torch

from seq2seq.errors import CheckpointError

SELECTED = "model.ckpt"  # the weights that won the selection at the end of a run
BEST = "best.ckpt"  # best validation so far
LAST = "last.ckpt"  # where a run continues

FIELDS = ("config", "tokenizer", "tokenizer_sha256", "state_dict")


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint, on the CPU.

    Raises:
        CheckpointError: missing, unreadable, truncated, or not written by this project.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no such checkpoint; give a run directory or a .ckpt file inside it")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # torch.load fails in many ways on what is not a whole checkpoint
        raise CheckpointError(
            f"{path}: not a checkpoint, or not a whole one (copied in part?); train again or take another checkpoint "
            f"of the run [{type(error).__name__}]"
        ) from error
    missing = [name for name in FIELDS if name not in content] if isinstance(content, dict) else list(FIELDS)
    if missing:
        raise CheckpointError(f"{path}: has no {', '.join(missing)}, so this project did not write it")
    return content


def find_model(path: Path) -> Path:
    """The checkpoint to translate with: the file itself, or of a run directory the selected, best or last one.

    Raises:
        CheckpointError: the path does not exist or holds no checkpoint.
    """
    if path.is_file():
        return path
    if not path.exists():
        raise CheckpointError(f"{path}: no such run directory or checkpoint")
    for name in (SELECTED, BEST, LAST):
        if (found := path / "checkpoints" / name).is_file():
            return found
    raise CheckpointError(f"{path}: holds no checkpoint; a run writes its first one after its first validation")


def resumable(run_dir: Path) -> tuple[Path, dict[str, Any]]:
    """The newest whole training checkpoint of a run, and its content.

    Raises:
        CheckpointError: there is none; the reasons of all that were tried are in the message.
    """
    folder = run_dir / "checkpoints"
    found = sorted(
        (path for name in (LAST, BEST) if (path := folder / name).is_file()),
        key=lambda path: path.stat().st_mtime,
        reverse=True,
    )
    reasons = []
    for path in found:
        try:
            return path, read_checkpoint(path)
        except CheckpointError as error:
            reasons.append(str(error))
    if reasons:
        raise CheckpointError("no checkpoint of this run is whole:\n" + "\n".join(reasons))
    raise CheckpointError(f"{run_dir}: nothing to resume; {folder} holds no {LAST}")


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is whole and on disk.

    Written beside its target, since a rename from another file system (such as /tmp) would be a copy.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # the rename itself reaches the disk with its directory
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def write_checkpoint(content: dict[str, Any], path: Path) -> None:
    """Save tensors and plain containers under `path`, whole or not at all.

    Raises:
        OSError: as when the disk is full.
    """
    with atomic_write(path) as file:
        try:
            torch.save(content, file)
        except RuntimeError as error:  # what torch says is that its archive has no proper end
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None


def bytes_to_tensor(data: bytes) -> torch.Tensor:
    """Bytes in the form that checkpoints hold."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def tensor_to_bytes(data: torch.Tensor) -> bytes:
    """Inverse of `bytes_to_tensor`."""
    return bytes(data.numpy())
