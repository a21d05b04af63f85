"""A model directory: a trained model in a form to ship.

    config.json          the configuration of the run, the SHA-256 of the tokenizer, what the training text was like,
    tokenizer.model      SentencePiece
    README.md            what the model is, what it scored, how to use it
    model.safetensors    weights for PyTorch
    ctranslate2/         weights for CTranslate2, which can also be used without this project; and a shortlist, maybe
    SHA256SUMS           checksums of all this but README.md, for `sha256sum --check`; older versions wrote none

It has one form of the weights, or both. It appears whole or not at all, reading it runs no code from it, and its
checksums are compared when it is read.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from seq2seq.artifacts.saved_model import SavedModel, read_seen
from seq2seq.config import BUNDLED, CORPUS, RunConfig
from seq2seq.config.on_resume import marks, value_of
from seq2seq.corpus.hashes import file_sha256
from seq2seq.errors import CheckpointError
from seq2seq.files import atomic_directory, regular, write_json
from seq2seq.masking import masked_addresses

if TYPE_CHECKING:  # a model for CTranslate2 is read without torch
    from torch import Tensor

CONFIG = "config.json"
TOKENIZER = "tokenizer.model"
README = "README.md"
WEIGHTS = "model.safetensors"
PICKLED = "pytorch_model.bin"  # in place of the former, in older models of `transformers`
CTRANSLATE2 = "ctranslate2"
SHORTLIST = f"{CTRANSLATE2}/vmap.txt"  # a name of CTranslate2
SUMS = "SHA256SUMS"
MODEL_FILES = (CONFIG, TOKENIZER, README, WEIGHTS, CTRANSLATE2, SUMS)

FORMAT = "seq2seq model directory"
FORMAT_VERSION = 3


def is_model_directory(path: Path) -> bool:
    """Whether `path` is a model directory, even a damaged one."""
    return described(path).get("format") == FORMAT


def is_of_transformers(path: Path) -> bool:
    """Whether `path` is a model directory of the package `transformers`."""
    return "model_type" in described(path)


def described(path: Path) -> dict[str, Any]:
    """What the config.json of a directory says, of ours or of `transformers`; empty if there is none."""
    try:
        content = json.loads(regular(path / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def read_model_directory(path: Path) -> SavedModel:
    """Read a model directory. A weight is loaded, and torch is imported, only when somebody asks for the weight.

    All files are compared with their checksums first, which takes one to two seconds for each GB.

    Raises:
        CheckpointError: a file is missing, damaged, no regular file, or from another model than the other files.
    """
    for file in (*_summed(path), path / SUMS):
        try:
            regular(file)
        except OSError as error:
            raise CheckpointError(f"{file}: {error.strerror}, so it is not read; copy the directory again") from error
    content = _description(path / CONFIG)
    sha256 = content["tokenizer_sha256"]
    weights = path / WEIGHTS
    if not weights.exists() and not (path / CTRANSLATE2).is_dir():
        raise CheckpointError(f"{path}: has neither {WEIGHTS} nor {CTRANSLATE2}/, so it is not whole; copy it again")
    tokenizer = _read(path / TOKENIZER)
    if hashlib.sha256(tokenizer).hexdigest() != sha256:
        raise CheckpointError(
            f"{path / TOKENIZER}: is damaged, or not the tokenizer that {CONFIG} names; copy all files of the "
            "directory again"
        )
    stored = StoredWeights(weights, sha256) if weights.exists() else {}
    _verify(path)
    return SavedModel(content["config"], tokenizer, sha256, stored, read_seen(content, path / CONFIG))


def write_model_directory(
    path: Path, model: SavedModel, readme: str, write_weights: Callable[[Path], None], *, overwrite: bool = False
) -> None:
    """Write a model directory, whole or not at all.

    Args:
        model: its weights are not used. Paths of this machine are left out of its configuration.
        readme: the model card, in Markdown.
        write_weights: writes the weights into the directory that it is given, which has a temporary name and all other
            files in it. It may also check what it wrote: if it raises, nothing is left behind.
        overwrite: replace a model directory of that name.
    Raises:
        CheckpointError: `path` cannot be written; or it exists, and `overwrite` is False or it is not a model
            directory.
    """
    with appearing(path, is_model_directory, overwrite=overwrite) as building:
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "tokenizer_sha256": model.tokenizer_sha256,
            "config": portable(model.config),
            **model.stored_facts,
        }
        write_json(building / CONFIG, description)
        (building / TOKENIZER).write_bytes(model.tokenizer)
        (building / README).write_text(readme, encoding="utf-8")
        write_weights(building)
        sums = [f"{file_sha256(file)}  {file.relative_to(building).as_posix()}\n" for file in _summed(building)]
        (building / SUMS).write_text("".join(sums), encoding="utf-8")


@contextmanager
def appearing(path: Path, is_ours: Callable[[Path], bool], *, overwrite: bool) -> Iterator[Path]:
    """A directory to ship that the block fills, and that appears whole or not at all.

    Args:
        is_ours: whether an older directory is of the same kind; with `overwrite`, it is replaced.
    Raises:
        CheckpointError: `path` cannot be written; or it exists, and is not to be replaced.
    """
    if path.exists() and not (overwrite and is_ours(path)):
        remedy = "add --force to replace it" if is_ours(path) else "choose another --output"
        raise CheckpointError(f"{path}: exists already{'' if overwrite else ', and is kept'}; {remedy}")
    try:
        with atomic_directory(path, replace=overwrite) as building:
            yield building
    except (OSError, SafetensorError) as error:  # the latter of weights, as on a full disk
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(f"{path}: cannot be written ({reason}); choose another --output") from error


def write_safetensors(directory: Path, weights: Mapping[str, "Tensor"], tokenizer_sha256: str) -> None:
    """Store the weights of a model directory."""
    from safetensors.torch import save_file

    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    save_file(tensors, directory / WEIGHTS, metadata={"format": "pt", "tokenizer_sha256": tokenizer_sha256})


class StoredWeights(Mapping[str, "Tensor"]):
    """The tensors of a safetensors file, each memory-mapped when it is asked for.

    Raises:
        CheckpointError: the file is not a whole safetensors file, or has the weights of another model.
    """

    def __init__(self, file: Path, tokenizer_sha256: str) -> None:
        self._file = file
        try:
            with safe_open(file, framework="np") as stored:
                metadata = stored.metadata() or {}
                self._names = list(stored.keys())
        except (SafetensorError, OSError) as error:
            raise CheckpointError(
                f"{file}: not a whole safetensors file (copied in part?); copy it again or export the model again "
                f"[{type(error).__name__}]"
            ) from error
        if metadata.get("tokenizer_sha256") != tokenizer_sha256:
            raise CheckpointError(
                f"{file}: these weights were trained with another tokenizer than {CONFIG} names, so they come from "
                "another model directory; copy all files of one"
            )

    def __getitem__(self, name: str) -> "Tensor":
        if name not in self._names:
            raise KeyError(name)
        with safe_open(self._file, framework="pt", device="cpu") as stored:
            tensor: Tensor = stored.get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def portable(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without values that mean something on one machine or account only, and without secrets."""
    plain: dict[str, Any] = _without_folders(json.loads(json.dumps(masked_addresses(config))))
    for key in (key for key, mark in marks(RunConfig).items() if mark.is_local):
        *sections, name = key.split(".")
        part = reduce(lambda inside, section: inside.get(section, {}), sections, plain)
        if name in part and not str(part[name]).startswith((BUNDLED, CORPUS)):
            part[name] = value_of(RunConfig(), key)
    return plain


def _without_folders(value: Any) -> Any:
    """Plain containers with names of files in place of their paths; relative ones stay, but for those that lead out."""
    if isinstance(value, Mapping):
        return {key: _without_folders(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_folders(each) for each in value]
    if isinstance(value, str) and value.startswith(("/", "~", "..")):
        return Path(value).name
    return value


def _summed(directory: Path) -> list[Path]:
    """The files that have a checksum: all that decide a translation. People may write into README.md."""
    files = [directory / name for name in (CONFIG, TOKENIZER, WEIGHTS)]
    files += sorted((directory / CTRANSLATE2).rglob("*"))
    return [file for file in files if file.exists() and not file.is_dir()]


def _verify(directory: Path) -> None:
    """Compare the files with their checksums, if they have some.

    Raises:
        CheckpointError: a file is missing, was changed, or has no checksum although there are some.
    """
    sums = directory / SUMS
    if not sums.exists():
        return
    lines = _read(sums).decode(errors="replace").splitlines()
    sha256_of = {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}
    if missing := [name for name in sha256_of if name and not (directory / name).exists()]:
        raise CheckpointError(
            f"{directory / missing[0]}: is missing, though {SUMS} names it; copy the directory again, or delete {SUMS} "
            "if you left the file out"
        )
    for file in _summed(directory):
        try:
            is_whole = file_sha256(file) == sha256_of.get(file.relative_to(directory).as_posix())
        except OSError as error:
            raise CheckpointError(f"{file}: cannot be read ({error.strerror or error}); copy it again") from error
        if not is_whole:
            raise CheckpointError(
                f"{file}: differs from its checksum in {SUMS}, so it is damaged or was changed; copy the directory "
                f"again, or delete {SUMS} if you changed the file"
            )


def _description(file: Path) -> dict[str, Any]:
    """The content of config.json."""
    try:
        content = json.loads(_read(file))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: is not JSON, so it is damaged; export the model again") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(
            f"{file}: does not describe a model of this project; make one with python -m seq2seq export"
        )
    if (version := content.get("format_version")) != FORMAT_VERSION:
        raise CheckpointError(
            f"{file}: has format version {version} and this version of seq2seq reads {FORMAT_VERSION}; install the "
            "seq2seq that wrote it, or export the model again"
        )
    if missing := [name for name in ("config", "tokenizer_sha256") if name not in content]:
        raise CheckpointError(f"{file}: has no {', '.join(missing)}, so it was changed; export the model again")
    return content


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"{file}: cannot be read ({error.strerror or error}); a model directory needs it, so copy it again or "
            "export the model again"
        ) from error
