"""Choose an engine for trained models, and lay it out on the machine."""

import sys
from collections.abc import Sequence

import torch

from seq2seq.artifacts.model_directory import CTRANSLATE2
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError, TranslationError
from seq2seq.hardware import multiplies_bf16, n_cores
from seq2seq.translation.engines.protocol import Engine
from seq2seq.translation.engines.pytorch import PyTorchEngine

ENGINES = ("auto", "torch", "ctranslate2")
PRECISIONS = ("auto", "float32", "bfloat16")
# Python runs the small steps between products in one thread at a time, so that more workers only wait for each other.
MOST_THREADS = 4
# Elsewhere there is no fork, or libraries that do not survive it.
CAN_FORK = sys.platform == "linux"


def load_engine(
    models: Sequence[TrainedModel],
    engine: str = "auto",
    device: str = "auto",
    precision: str = "auto",
    threads: int = 0,
    workers: int = 0,
    forks: bool = False,
) -> Engine:
    """
    Args:
        models: one, or several with the same tokenizer as an ensemble.
        engine: torch, ctranslate2, or auto: what the model has weights for, torch first.
        device: auto (a CUDA device if there is one), cpu, cuda, cuda:1, ...
        precision: float32, bfloat16 (of matrix products), or auto: bfloat16 where the hardware multiplies it. For
            CTranslate2 also its other types; there, auto is what the weights are stored as.
        threads: CPU threads in all; 0: one for each core that this process may use.
        workers: batches at the same time; 0: on a CPU one for each thread, since a batch on one thread wastes nothing
            on waiting, but at most 4 that are threads of torch; 1 on a GPU.
        forks: whether torch's workers on a CPU, if they have one thread each, may be processes forked from this one.
            That is faster, but safe only while nothing else runs here: locks that other threads hold would never open
            in the child.
    Raises:
        CheckpointError: no weights for this engine.
        ConfigError: CTranslate2 is not installed, or cannot do what is asked for.
        TokenizerError: models of an ensemble with different tokenizers.
        TranslationError: no such engine, device or precision.
    """
    if engine not in ENGINES:
        raise TranslationError(f"engine={engine!r} is not one of {', '.join(ENGINES)}")
    first = models[0]
    for other in models[1:]:
        if other.tokenizer.fingerprint != first.tokenizer.fingerprint:
            raise TokenizerError(
                f"{other.path} and {first.path} have different tokenizers; models of an ensemble need the same one"
            )
    if engine == "ctranslate2" or (engine == "auto" and len(models) == 1 and not first.weights):
        return _ctranslate2(models, device, precision, threads, workers)
    on = _device(device)
    chosen_precision = _precision(precision, on)
    n_threads = threads or n_cores()
    if on.type != "cpu":
        return PyTorchEngine([model.build() for model in models], on, chosen_precision, workers or 1)
    n_workers = workers or (n_threads if forks and CAN_FORK else min(n_threads, MOST_THREADS))
    per_worker = max(1, n_threads // n_workers)
    if forks := forks and CAN_FORK and n_workers > per_worker == 1:
        torch.set_num_threads(1)  # a child waits forever for threads of OpenMP that its parent started
    return PyTorchEngine([model.build() for model in models], on, chosen_precision, n_workers, per_worker, forks)


def _ctranslate2(models: Sequence[TrainedModel], device: str, precision: str, threads: int, workers: int) -> Engine:
    from seq2seq.translation.engines.ctranslate2 import load

    (model, *others) = models
    if others:
        raise ConfigError("CTranslate2 has no ensembles; use --engine torch, or one model")
    if not (model.path / CTRANSLATE2).is_dir():
        raise CheckpointError(
            f"{model.path}: has no weights for CTranslate2; make them with "
            "python -m seq2seq export RUN --format ctranslate2, and give the directory that it names"
        )
    return load(
        model.path,
        model.tokenizer,
        model.config.model.max_length,
        device=device,
        precision=precision,
        threads=threads,
        workers=workers,
    )


def _device(name: str) -> torch.device:
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


def _precision(name: str, device: torch.device) -> str:
    if name not in PRECISIONS:
        raise TranslationError(
            f"precision={name!r} is not one of {', '.join(PRECISIONS)}; others need --engine ctranslate2"
        )
    if name == "auto":
        return "bfloat16" if multiplies_bf16(device.type) else "float32"
    return name
