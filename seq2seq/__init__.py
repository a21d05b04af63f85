"""The package as a program sees it:  seq2seq.load(RUN_DIR).translate(lines)

It trains Transformer translation models on parallel text, translates files with them and tracks the experiments.
No other module is imported before `load` is called.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from seq2seq.translation.engines.options import AttentionName, EngineName
    from seq2seq.translation.translator import Translator

__version__ = "0.1.0"


def load(
    path: str | Path | Sequence[str | Path],
    *,
    engine: "EngineName" = "auto",
    device: str = "auto",
    precision: str = "auto",
    threads: int = 0,
    workers: int = 0,
    forks: bool = False,
    attention: "AttentionName | Literal['']" = "",
    weights: Sequence[float] = (),
) -> "Translator":
    """A trained model, ready to translate:  seq2seq.load("runs/demo").translate(["Un chat dort."])[0].text

    Args:
        path: a run directory, a checkpoint file or a model directory; several are an ensemble.
        engine: one of `EngineName`; `auto` takes what the model has weights for, torch first.
        device: auto (a CUDA device if there is one), cpu, cuda, cuda:1, or several GPUs: cuda:0,cuda:1.
        precision: of matrix products: float32, bfloat16, or auto: bfloat16 where the hardware multiplies it.
            CTranslate2 has more, such as int8; there, auto is what the weights are stored as.
        threads: CPU threads in all; 0: one for each core that this process may use.
        workers: batches at the same time; 0: as many as the device can use.
        forks: let torch's workers on a CPU be forked processes. That is faster. It is safe only while nothing else runs
            in this process.
        attention: hard: each head attends to the one token that it weighs most; soft: to all; empty: as in training.
        weights: how much each model of an ensemble counts; none: all the same.
    Raises:
        UserError: what is wrong with the model or with what is asked for, and what to do.
    """
    from seq2seq.translation.engines.options import EngineOptions
    from seq2seq.translation.translator import Translator

    options = EngineOptions(
        engine=engine,
        device=device,
        precision=precision,
        threads=threads,
        workers=workers,
        forks=forks,
        attention=attention,
        weights=tuple(weights),
    )
    return Translator.load([path] if isinstance(path, str | Path) else path, options)
