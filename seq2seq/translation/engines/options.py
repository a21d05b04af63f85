"""The options of an engine: which one, and what it uses of the machine."""

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from seq2seq.errors import ConfigError
from seq2seq.translation.argument_types import check_types

EngineName = Literal["auto", "torch", "ctranslate2"]
AttentionName = Literal["soft", "hard"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
ATTENTIONS: tuple[AttentionName, ...] = get_args(AttentionName)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What the user of a model decides about speed; `load.py` decides the rest.

    Attributes:
        engine: one of `ENGINES`; auto takes the engine that the model has weights for, torch first.
        device: auto (a CUDA device if there is one), cpu, cuda or cuda:1. Several GPUs need a process each.
        precision: type of matrix products: float32, bfloat16, or auto: bfloat16 if the hardware multiplies it. For
            CTranslate2 also its other types; there, auto is the type of the stored weights.
        threads: CPU threads in all; 0: one for each core that this process may use.
        workers: batches that are searched at the same time. 0 means one on a GPU, and one for each thread of a CPU,
            where a batch on one thread never waits for another thread; but at most 4 if torch's workers are threads,
            and no more than fit into memory.
        forks: whether torch's workers on a CPU may be processes forked from this one, if each has one thread. That is
            faster. It is safe only while nothing else runs in this process: a lock that another thread holds would
            never open in the child.
        attention: soft or hard, as `model.hard_attention` has it; empty: as the model was trained. With hard attention,
            each head takes the one token that it weighs most.
        weights: how much each model of an ensemble counts; empty: all the same.
        local_rank: number, from 0, of this process among those of the machine that share a text: each takes a GPU of
            its own where `device` names none.
        n_local: how many processes share the memory of the machine.
        max_batch_tokens: how large the batches will be, which decides how much memory a worker needs; 0: as large as
            suits the engine.
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

    def __post_init__(self) -> None:
        check_types(vars(self), get_type_hints(EngineOptions))
        if "," in self.device:
            raise ConfigError(
                f"device={self.device!r} names several devices, and a process uses one; start a process for each, "
                "as in torchrun --nproc-per-node 2 translate.py ..."
            )
        for weight in self.weights:
            check_types({"weights": weight}, {"weights": float})
