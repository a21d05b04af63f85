"""The package as a program sees it:  seq2seq.load(seq2seq.train(WORDS).run_dir).translate(lines)

It trains Transformer translation models on parallel text, translates files with them and tracks the experiments.
Nothing that takes long to import is imported before it is needed. docs/python.md shows all of it at work.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

# Python binds a package's name here when it first imports it: after that, `config` is the function below.
from seq2seq.config.run import RunConfig
from seq2seq.errors import UserError, packages_needed

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from seq2seq.training.selection import Outcome
    from seq2seq.translation.engines.options import AttentionName, EngineName
    from seq2seq.translation.translator import Translator

__version__ = "0.1.0"
__all__ = ["UserError", "__version__", "config", "load", "train"]


def __dir__() -> list[str]:
    return __all__


def config(words: Sequence[str] = (), *, config_dir: str | Path | None = None) -> RunConfig:
    """The configuration of a new run, checked:  seq2seq.config(["experiment=demo", "optim.lr=1e-3"]).model.d_model

    Args:
        words: as of `train.py`.
        config_dir: a directory with presets of your own, as `--config-dir` of `train.py`.
    Raises:
        UserError: what is wrong with the words, and what to do.
    """
    with packages_needed():
        from seq2seq.config.compose import composed
        from seq2seq.training.composed import checked

    with composed(words, config_dir) as job:
        return checked(job)


def train(
    words: Sequence[str], *, config_dir: str | Path | None = None, callbacks: "Sequence[pl.Callback]" = ()
) -> "Outcome":
    """Train in this process:  seq2seq.train(["experiment=demo"]).tests["test"]["bleu"].score

    Ctrl-C, and the stop button of a notebook, let the run finish its step and save. Progress goes to stderr.

    Args:
        words: as of `train.py`, for one run; also resume=RUN_DIR.
        config_dir: a directory with presets of your own, as `--config-dir` of `train.py`.
        callbacks: Lightning's, which are called before those of the run.
    Returns:
        The run directory, the scores on valid of each candidate for the final weights, and those on the test sets.
    Raises:
        UserError: what is wrong, and what to do.
        KeyboardInterrupt: you stopped the run; the message says how to go on.
    """
    with packages_needed():
        from seq2seq.training.launch import train_in_process

    return train_in_process(words, config_dir, callbacks)


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
        device: auto (a CUDA device if there is one), cpu, cuda or cuda:1.
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
        TypeError: an argument is of another type.
    """
    from seq2seq.translation.argument_types import listed
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
        weights=tuple(listed(weights, "weights", "a number for each model")),
    )
    with packages_needed():
        return Translator.load([path] if isinstance(path, str | Path) else path, options)
