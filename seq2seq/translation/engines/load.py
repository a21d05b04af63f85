"""Choose an engine for trained models, its device and its workers."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seq2seq.artifacts.model_directory import CTRANSLATE2
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError, TranslationError
from seq2seq.hardware import multiplies_bf16, n_cores
from seq2seq.translation.engines.options import ENGINES, EngineOptions
from seq2seq.translation.engines.protocol import Engine

if TYPE_CHECKING:  # torch takes a second to import, and CTranslate2 does not need it
    import torch

PRECISIONS = ("auto", "float32", "bfloat16")
# Python runs the small steps between products in one thread at a time: more workers would only wait for each other.
MOST_THREADS = 4
# Elsewhere there is no fork, or libraries break after it.
CAN_FORK = sys.platform == "linux"


def load_engine(models: Sequence[TrainedModel], options: EngineOptions) -> Engine:
    """The engine for one model, or for several with the same tokenizer: an ensemble.

    Raises:
        CheckpointError: there are no weights for this engine.
        ConfigError: CTranslate2 is not installed, or cannot do what is asked for.
        TokenizerError: the models of an ensemble have different tokenizers.
        TranslationError: the engine, device or precision is unknown.
    """
    first = models[0]
    for other in models[1:]:
        if other.tokenizer.fingerprint != first.tokenizer.fingerprint:
            raise TokenizerError(
                f"{other.path} and {first.path} have different tokenizers; models of an ensemble need the same one"
            )
    if choose_engine(models, options) == "ctranslate2":
        return _ctranslate2(models, options)
    return _pytorch(models, options)


def choose_engine(models: Sequence[TrainedModel], options: EngineOptions) -> str:
    """`torch` or `ctranslate2`: what is asked for, or what `auto` means for these models.

    Raises:
        TranslationError: the engine is unknown.
    """
    if options.engine not in ENGINES:
        raise TranslationError(f"engine={options.engine!r} is not one of {', '.join(ENGINES)}")
    if options.engine == "auto":
        return "torch" if len(models) > 1 or models[0].weights else "ctranslate2"
    return options.engine


def _ctranslate2(models: Sequence[TrainedModel], options: EngineOptions) -> Engine:
    from seq2seq.translation.engines.ctranslate2 import load

    (model, *others) = models
    if others:
        raise ConfigError("CTranslate2 has no ensembles; use --engine torch, or one model")
    if not (model.path / CTRANSLATE2).is_dir():
        raise CheckpointError(
            f"{model.path}: has no weights for CTranslate2; make them with "
            "python -m seq2seq export RUN --format ctranslate2, and give the directory that it names"
        )
    return load(model.path, model.tokenizer, model.config.model.max_length, options)


def _pytorch(models: Sequence[TrainedModel], options: EngineOptions) -> Engine:
    import torch

    from seq2seq.translation.engines.pytorch import PyTorchEngine

    device = _device(options.device)
    precision = _precision(options.precision, device)
    if device.type != "cpu":
        return PyTorchEngine([model.build() for model in models], device, precision, options.workers or 1)
    can_fork = options.forks and CAN_FORK
    n_threads = options.threads or n_cores()
    n_workers = options.workers or (n_threads if can_fork else min(n_threads, MOST_THREADS))
    per_worker = max(1, n_threads // n_workers)
    if forks := can_fork and n_workers > per_worker == 1:
        torch.set_num_threads(1)  # a child would wait forever for OpenMP threads that its parent started
    return PyTorchEngine([model.build() for model in models], device, precision, n_workers, per_worker, forks)


def _device(name: str) -> "torch.device":
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter from torch built without CUDA
        raise TranslationError(
            f"torch {torch.__version__} has no device {name!r} here; use auto or cpu, or install a torch build for it"
        ) from error
    return device


def _precision(name: str, device: "torch.device") -> str:
    if name not in PRECISIONS:
        raise TranslationError(
            f"precision={name!r} is not one of {', '.join(PRECISIONS)}; others need --engine ctranslate2"
        )
    if name == "auto":
        return "bfloat16" if multiplies_bf16(device.type) else "float32"
    return name
