"""Load a model directory for CTranslate2."""

import json
from pathlib import Path
from typing import Any

from seq2seq.artifacts.model_directory import CTRANSLATE2
from seq2seq.cores import n_cores
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine
from seq2seq.translation.engines.options import EngineOptions

PRECISIONS = (
    "auto",  # what the directory was quantised to
    "float32",
    "float16",
    "bfloat16",
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
    "int16",
)


def load(directory: Path, tokenizer: Tokenizer, max_length: int, options: EngineOptions) -> CTranslate2Engine:
    """The engine for a model directory with CTranslate2 weights.

    Args:
        tokenizer: of the same directory.
        max_length: `model.max_length` of its configuration.
        options: `precision=auto` is the type that the weights were quantised to, or the nearest one that the device
            computes. `workers=0` on a CPU searches one batch on each thread: that was 2 to 6 times as fast as one batch
            on all threads.
    Raises:
        CheckpointError: there are no CTranslate2 weights, or they are damaged.
        ConfigError: CTranslate2 is not installed, or has no such device or precision here.
        TokenizerError: the weights belong to another tokenizer.
    """
    ctranslate2 = require_ctranslate2()
    if options.precision not in PRECISIONS:
        raise ConfigError(f"precision={options.precision!r} is not one of {', '.join(PRECISIONS)}")
    weights = directory / CTRANSLATE2
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    _check_vocabulary(weights, pieces)
    name, _, index = options.device.partition(":")
    gpu = int(index) if index.isdigit() else 0
    n_threads = options.threads or n_cores()
    n_gpus = ctranslate2.get_cuda_device_count()
    if n_gpus and options.device in ("auto", "cuda"):
        gpu = options.local_rank % n_gpus
    n_workers = options.workers or (1 if name == "cuda" or (name == "auto" and n_gpus) else n_threads)
    try:
        if name == "cuda" and gpu >= n_gpus:  # CTranslate2 would report it like damaged weights
            raise ValueError(f"it sees {n_gpus} CUDA devices")
        translator = ctranslate2.Translator(
            str(weights),
            device=name,
            device_index=gpu,
            compute_type="default" if options.precision == "auto" else options.precision,
            inter_threads=n_workers,
            intra_threads=max(1, n_threads // n_workers),
        )
    except ValueError as error:  # it does not have the device or the type
        raise ConfigError(
            f"CTranslate2 cannot run with device={options.device} and precision={options.precision} here ({error}); "
            "use device=cpu or precision=auto"
        ) from error
    except RuntimeError as error:
        raise CheckpointError(
            f"{weights}: cannot be loaded, so it is damaged or from another version of CTranslate2; export the model "
            f"again [{' '.join(str(error).split())[:200]}]"
        ) from error
    return CTranslate2Engine(translator, pieces, max_length, n_workers)


def require_ctranslate2() -> Any:
    """The module `ctranslate2`.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import ctranslate2
    except ImportError as error:
        if isinstance(error.__cause__, (KeyboardInterrupt, SystemExit)):
            raise error.__cause__ from None  # a signal during the import, which C++ turns into an ImportError
        raise ConfigError(
            "CTranslate2 is not installed; run, in a clone of seq2seq: pip install -e '.[ctranslate2]'"
        ) from error
    return ctranslate2


def _check_vocabulary(weights: Path, pieces: list[str]) -> None:
    file = weights / "shared_vocabulary.json"
    if not file.is_file() or not (weights / "model.bin").is_file():
        raise CheckpointError(
            f"{weights}: holds no CTranslate2 model; make one with: python -m seq2seq export RUN --format ctranslate2"
        )
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: cannot be read, so it is damaged; export the model again") from error
    if stored != pieces:
        raise TokenizerError(f"{file}: has other pieces than the tokenizer beside it; export the model again")
