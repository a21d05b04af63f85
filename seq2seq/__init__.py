"""The package as a program sees it:  seq2seq.load(seq2seq.train(WORDS).run_dir).translate(lines)

It trains Transformer translation models on parallel text, translates files with them and tracks the experiments.
Nothing that takes long to import is imported before it is needed. docs/python.md shows all of it at work.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

# Python binds a package's name here when it first imports it: after that, `config` is the function below.
from seq2seq.config.run import RunConfig
from seq2seq.errors import ConfigError, UserError, packages_needed

if TYPE_CHECKING:
    import pytorch_lightning as pl
    from typing_extensions import Unpack

    from seq2seq.training.selection import Outcome
    from seq2seq.translation.options import EngineSettings
    from seq2seq.translation.translator import Translator

__version__ = "0.1.0"
__all__ = ["UserError", "__version__", "config", "load", "train"]


def __dir__() -> list[str]:
    return __all__


def config(words: Sequence[str] = (), *, config_dir: str | Path | None = None) -> RunConfig:
    """The configuration of a new run, checked:  `seq2seq.config(["experiment=demo", "optim.lr=1e-3"]).model.d_model`

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
        if job.cfg.hours:
            raise ConfigError("hours= chooses when a run begins; give the plain keys that it prints then")
        return checked(job)


def train(
    words: Sequence[str], *, config_dir: str | Path | None = None, callbacks: "Sequence[pl.Callback]" = ()
) -> "Outcome":
    """Train in this process:  `seq2seq.train(["experiment=demo"]).tests["test"]["bleu"].score`

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


def load(path: str | Path | Sequence[str | Path], **settings: "Unpack[EngineSettings]") -> "Translator":
    """A trained model, ready to translate:  `seq2seq.load("runs/demo").translate(["Un chat dort."])[0].text`

    Args:
        path: a run directory, a checkpoint file or a model directory; several are an ensemble.
        settings: the device, precision, workers and the like, see `EngineSettings`.
    Raises:
        UserError: what is wrong with the model or with what is asked for, and what to do.
        TypeError: there is no such argument, or it is of another type.
    """
    from typing import Any, get_type_hints

    from seq2seq.options import check_types, listed
    from seq2seq.translation.options import EngineOptions, EngineSettings, Settings
    from seq2seq.translation.translator import Translator

    check_types(settings, get_type_hints(EngineSettings), get_type_hints(Settings), "translate()")
    given: dict[str, Any] = {**settings}
    given["weights"] = tuple(listed(given.get("weights", ()), "weights", "a number for each model"))
    with packages_needed():
        return Translator.load([path] if isinstance(path, str | Path) else path, EngineOptions(**given))
