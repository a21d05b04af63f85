"""Choose an engine for trained models, its device and its workers."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from seq2seq.artifacts.model_directory import CTRANSLATE2
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config.checks import MOST_AT_ONCE
from seq2seq.cores import n_cores
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError, TranslationError
from seq2seq.hardware import multiplies_bf16
from seq2seq.memory import available_memory, no_room_on, telling_out_of_memory
from seq2seq.translation.engines import Engine
from seq2seq.translation.engines.ctranslate2 import load
from seq2seq.translation.options import ATTENTIONS, ENGINES, EngineOptions

if TYPE_CHECKING:  # torch takes a second to import, and CTranslate2 does not need it
    import torch

PRECISIONS = ("auto", "float32", "bfloat16", "float16")
# Python runs the small steps between products in one thread at a time: more workers would only wait for each other.
MOST_THREADS = 4
MANY = 1 << 30  # workers, where nobody says how much memory there is
_WORKER_BYTES = 350 << 20  # what a worker needs for itself, whatever the model and its batches
# Elsewhere there is no fork, or libraries break after it.
CAN_FORK = sys.platform == "linux"


def load_engine(models: Sequence[TrainedModel], options: EngineOptions) -> Engine:
    """The engine for one model, or for several with the same tokenizer: an ensemble.

    Raises:
        CheckpointError: there are no weights for this engine.
        ConfigError: CTranslate2 is not installed, or cannot do what is asked for; too many threads or workers.
        TokenizerError: the models of an ensemble have different tokenizers.
        TranslationError: the engine, the attention, the device or the precision is unknown.
    """
    first, max_length = models[0], models[0].config.model.max_length
    for name, n in (("threads", options.threads), ("workers", options.workers)):
        if not 0 <= n <= MOST_AT_ONCE:
            bound = f"more than {MOST_AT_ONCE}" if n > 0 else "below 0"
            raise ConfigError(f"{name}={n} is {bound}; give as many as this machine has cores, or fewer")
    if options.attention and options.attention not in ATTENTIONS:
        raise TranslationError(f"attention={options.attention!r} is not one of {', '.join(ATTENTIONS)}")
    if choose_engine(models, options) == "ctranslate2":
        if options.attention:
            raise ConfigError(
                f"attention={options.attention} cannot be chosen for CTranslate2, whose models attend as they were "
                "converted; use --engine torch"
            )
        if len(models) > 1:
            raise ConfigError("CTranslate2 has no ensembles; use --engine torch, or one model")
        if not (first.path / CTRANSLATE2).is_dir():
            raise CheckpointError(
                f"{first.path}: has no weights for CTranslate2; make them with "
                "python -m seq2seq export RUN --format ctranslate2, and give the directory that it names"
            )
        return load(first.path, first.tokenizer, max_length, options)
    check_ensemble(models)
    if (converted := options.converted) is None:
        return _pytorch(models, options)
    # PyTorch gives the attention, which only the few lines need that something is taken out of.
    n_workers = options.workers or options.threads or n_cores()
    options = replace(options, device="cpu", precision="float32", workers=n_workers)
    attending = _pytorch(models, replace(options, forks=False))
    return load(converted, first.tokenizer, max_length, options, attending)


def check_ensemble(models: Sequence[TrainedModel]) -> None:
    """Check models that translate together, if they are several.

    Raises:
        CheckpointError: one has no weights for PyTorch.
        TokenizerError: they have different tokenizers.
    """
    first, *others = models
    for model in models if others else ():
        if not model.weights:
            raise CheckpointError(
                f"{model.path}: holds weights for CTranslate2 only, and models that translate together need those for "
                "PyTorch; give the run that it came from"
            )
        if model.tokenizer.fingerprint != first.tokenizer.fingerprint:
            raise TokenizerError(
                f"{model.path} and {first.path} have different tokenizers; models of an ensemble need the same one"
            )


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


def computes_float32_on_cpu(options: EngineOptions) -> bool:
    """Whether PyTorch would multiply in float32, and on a CPU.

    Raises:
        TranslationError: the device or the precision is unknown.
    """
    device = _device(options.device, options.local_rank)
    return device.type == "cpu" and _precision(options.precision, device) == "float32"


def _pytorch(models: Sequence[TrainedModel], options: EngineOptions) -> Engine:
    import torch

    from seq2seq.translation.engines.pytorch import PyTorchEngine

    device = _device(options.device, options.local_rank)
    precision = _precision(options.precision, device)
    n_workers, per_worker, forks = options.workers or 1, 0, False
    if device.type == "cpu":
        max_batch_tokens = options.max_batch_tokens or PyTorchEngine.max_batch_tokens
        n_workers, per_worker, forks = _layout(
            options, _n_fitting(models, precision, max_batch_tokens, options.n_local)
        )
    # A new model draws its weights, before it gets those of the file. Matrices are packed for the threads that will
    # multiply them.
    with torch.random.fork_rng(devices=[]), _one_thread() if forks else nullcontext():
        built = [model.build(options.attention) for model in models]
        return PyTorchEngine(built, device, precision, n_workers, per_worker, forks, options.weights)


def _layout(options: EngineOptions, n_fitting: int) -> tuple[int, int, bool]:
    """How many workers a CPU has, the threads of each, and whether they are processes."""
    can_fork = options.forks and CAN_FORK
    n_threads = options.threads or n_cores()
    n_workers = options.workers or min(n_threads if can_fork else min(n_threads, MOST_THREADS), n_fitting)
    per_worker = max(1, n_threads // n_workers)
    if can_fork and not options.workers and n_workers == n_fitting:
        per_worker = 1  # where memory is short, processes are better: the kernel can kill one and leave the rest
    return n_workers, per_worker, can_fork and n_workers > per_worker == 1


@contextmanager
def _one_thread() -> Iterator[None]:
    """Give torch one thread for a while."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def _n_fitting(models: Sequence[TrainedModel], precision: str, max_batch_tokens: int, n_local: int) -> int:
    """How many workers the memory suffices for, if so many processes share it; at least 1.

    What a worker has for itself was measured for models of 2,000 to 32,000 pieces, with batches of 1,024 to 16,384
    tokens, greedily and with a beam. The largest parts are oneDNN's compiled products (up to 0.3 GB, whatever the
    model), the logits of a step, and what the layers keep of earlier steps. This is more than any of them needed;
    docs/decisions/0008-forked-workers.md has the figures. The weights are shared.
    """
    available = available_memory()
    if available is None:
        return MANY
    available //= n_local
    n_bytes = 2 if precision == "bfloat16" else 4
    need = _WORKER_BYTES
    for model in models:
        sizes = model.config.model
        n_layers = sizes.n_encoder_layers + sizes.n_decoder_layers
        width = max(sizes.d_model, sizes.d_memory, sizes.n_heads * max(sizes.d_k, sizes.d_v))
        logits, states = 2.5 * model.tokenizer.vocab_size, 2.5 * width * n_layers
        need += round(max_batch_tokens * n_bytes * (logits + states))
        available -= 2 * sum(weight.nbytes for weight in model.weights.values())  # the model, and its packed matrices
    return max(1, available // need)


def _device(name: str, local_rank: int) -> "torch.device":
    """The device of an option; `auto` and `cuda` are another GPU for each rank."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and local_rank and torch.cuda.is_available():
        name = f"cuda:{local_rank % torch.cuda.device_count()}"
    try:
        device = torch.device(name)
        with telling_out_of_memory(no_room_on(name)):
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
