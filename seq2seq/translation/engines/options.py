"""Which engine, and how it is laid out on the machine."""

from dataclasses import dataclass
from typing import Literal, get_args

EngineName = Literal["auto", "torch", "ctranslate2"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What the user of a model decides about speed; `load.py` decides the rest.

    Attributes:
        engine: one of `ENGINES`; auto takes what the model has weights for, torch first.
        device: auto (a CUDA device if there is one), cpu, cuda, cuda:1, ...
        precision: float32, bfloat16 (of matrix products), or auto: bfloat16 where the hardware multiplies it. For
            CTranslate2 also its other types; there, auto is what the weights are stored as.
        threads: CPU threads in all; 0: one for each core that this process may use.
        workers: batches at the same time; 0: on a CPU one for each thread, since a batch on one thread never waits for
            another thread, but at most 4 that are threads of torch; 1 on a GPU.
        forks: whether torch's workers on a CPU, if they have one thread each, may be processes forked from this one.
            That is faster. It is safe only while nothing else runs in this process: locks that other threads hold would
            never open in the child.
    """

    engine: str = "auto"
    device: str = "auto"
    precision: str = "auto"
    threads: int = 0
    workers: int = 0
    forks: bool = False
