"""The options of an engine: which one, and what it uses of the machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypedDict, get_args, get_type_hints

from seq2seq.errors import ConfigError
from seq2seq.options import Option, above_zero, check_types, device, positive

EngineName = Literal["auto", "torch", "ctranslate2"]
AttentionName = Literal["soft", "hard"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
ATTENTIONS: tuple[AttentionName, ...] = get_args(AttentionName)

_speed = partial(Option, group="speed")
_WEIGHTS = "how much each model of an ensemble counts, one number for each; default: all the same"
_ATTENTION = "hard: each head attends to the one token that it weighs most; soft: to all; default: as in training"
_ENGINE = "auto takes what the model has weights for, torch first; default: auto"
_DEVICE = "auto, cpu, cuda, or one GPU as cuda:1; several need a process each; default: a GPU if there is one"
_PRECISION = (
    "type of matrix products: float32, bfloat16, with CTranslate2 also int8 and others; default: bfloat16 if the "
    "hardware has it; with CTranslate2, the type of the stored weights"
)
_WORKERS = "batches that are translated at the same time; default: on a CPU one for each thread"


class EngineSettings(TypedDict, total=False):
    """The keywords of `seq2seq.load`."""

    weights: Annotated[Sequence[float], Option(_WEIGHTS, "W", above_zero, is_list=True)]
    attention: Annotated[AttentionName, Option(_ATTENTION, choices=ATTENTIONS)]
    engine: Annotated[EngineName, _speed(_ENGINE, choices=ENGINES, is_common=True)]
    device: Annotated[str, _speed(_DEVICE, "DEVICE", device, is_common=True)]
    precision: Annotated[str, _speed(_PRECISION, "TYPE")]
    threads: Annotated[int, _speed("CPU threads in all; default: one for each core", "N", positive)]
    workers: Annotated[int, _speed(_WORKERS, "N", positive)]
    forks: bool  # see `EngineOptions`


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """`EngineSettings` with their defaults, and what the call of a command adds; `load.py` decides the rest.

    Attributes:
        workers: 0 means one on a GPU, and one for each thread of a CPU, where a batch on one thread never waits for
            another thread; but at most 4 if torch's workers are threads, and no more than fit into memory.
        forks: whether torch's workers on a CPU may be processes forked from this one, if each has one thread. That is
            faster. It is safe only while nothing else runs in this process: a lock that another thread holds would
            never open in the child.
        local_rank: number, from 0, of this process among those of the machine that share a text: each takes a GPU of
            its own where `device` names none.
        n_local: how many processes share the memory of the machine.
        max_batch_tokens: how large the batches will be, which decides how much memory a worker needs; 0: as large as
            suits the engine.
        converted: a model directory with weights for CTranslate2 of the one model, to search with it; PyTorch then only
            gives attention.
    Raises:
        TypeError: a value is of another type.
        ConfigError: several devices are named.
    """

    engine: str = "auto"
    device: str = "auto"
    precision: str = "auto"
    threads: int = 0
    workers: int = 0
    forks: bool = False
    attention: str = ""
    weights: tuple[float, ...] = ()
    local_rank: int = 0
    n_local: int = 1
    max_batch_tokens: int = 0
    converted: Path | None = None

    def __post_init__(self) -> None:
        check_types(vars(self), get_type_hints(EngineOptions))
        if "," in self.device:
            raise ConfigError(
                f"device={self.device!r} names several devices, and a process uses one; start a process for each, "
                "as in torchrun --nproc-per-node 2 translate.py ..."
            )
        for weight in self.weights:
            check_types({"weights": weight}, {"weights": float})
