"""From the words of `train.py` to a task: Hydra composes its configuration, and its errors become sentences."""

import errno
import logging
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.errors import ConfigError, UserError
from seq2seq.exit_status import raise_if_stopped
from seq2seq.files import conf_dir

if TYPE_CHECKING:  # Hydra takes a tenth of a second to import: too long for the help of all commands
    from omegaconf import DictConfig

    from seq2seq.config.command import Composed

MULTIRUN = frozenset(("-m", "--multirun"))


def with_hydra(words: Sequence[str], task: Callable[["DictConfig"], Any]) -> None:
    """Let Hydra read the words, and call the task with what they compose: once, or, with -m, for each job of a sweep.

    If they only let Hydra print something, as `--help` does, the task is not called.

    Raises:
        ConfigError: Hydra refuses the words.
    """
    import hydra
    from hydra.core.config_store import ConfigStore
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from seq2seq.config import RunConfig
    from seq2seq.config.command import readable
    from seq2seq.config.compose import checked_folder, one_sentence

    logging.getLogger("hydra").setLevel(logging.WARNING)
    ConfigStore.instance().store(name="schema", node=RunConfig)
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra raises its errors instead of printing them
    is_sweep = not MULTIRUN.isdisjoint(words)
    failures: list[Exception] = []

    def do(cfg: "DictConfig") -> None:
        raise_if_stopped()  # Hydra's libraries may have swallowed it, and composed something else
        try:
            task(cfg)
        except Exception as error:
            failures.append(error)  # Hydra would print all words of the command with it

    argv = sys.argv
    sys.argv = [argv[0], *(readable(word, is_sweep=is_sweep) for word in words)]
    try:
        _check_choices(words, conf_dir())
        for word, following in pairwise([*words, ""]):
            option, _, folder = word.partition("=")
            if option in ("--config-dir", "-cd"):
                checked_folder(Path(folder or following), "--config-dir")
        with _help_unread():
            hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="train")(
                task if is_sweep else do  # launchers send the task of a sweep to other processes
            )()
    except Exception as error:
        raise_if_stopped()
        if isinstance(error, (HydraException, OmegaConfBaseException)):
            raise ConfigError(one_sentence(error)) from error
        is_too_long = isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG
        if isinstance(error, (UserError, OSError)) and not is_too_long:
            raise
        # Such as a number of more digits than Python reads: Hydra's grammar accepts what its parser then trips over. A
        # word without = is sought among the presets, even if it is too long for the name of a file.
        raise ConfigError(f"Hydra cannot read this command ({error or type(error).__name__}); correct it") from error
    finally:
        sys.argv = argv
    if failures:
        raise failures[0]


@contextmanager
def _help_unread() -> Iterator[None]:
    """From Python 3.14 on, argparse looks into the help of an option at once, and Hydra has one that is no text yet."""
    name = "_check_help"
    if not hasattr(ArgumentParser, name):
        yield
        return
    setattr(ArgumentParser, name, lambda *_: None)
    try:
        yield
    finally:
        delattr(ArgumentParser, name)  # what it inherits is there again


def job_of(cfg: "DictConfig") -> "Composed":
    """What Hydra composed for the task that it has just called.

    Raises:
        ConfigError: a path cannot be read. All else is read later.
        PluginError: a plugin cannot be imported.
    """
    from hydra.core.hydra_config import HydraConfig
    from omegaconf.errors import OmegaConfBaseException

    from seq2seq.config.command import PATHS, Composed, sentence_of
    from seq2seq.plugins import import_plugins

    try:
        _ = [cfg[key] for key in PATHS]
    except OmegaConfBaseException as error:
        raise ConfigError(sentence_of(error)) from error
    import_plugins(cfg.plugins)
    return Composed(cfg, list(HydraConfig.get().overrides.task))


def _check_choices(words: Sequence[str], conf: Path) -> None:
    for word in words:
        group, _, choice = word.lstrip("+").partition("=")
        if choice == "null" and (conf / group).is_dir():  # Hydra would end in a traceback
            choices = ", ".join(sorted(path.stem for path in (conf / group).glob("*.yaml")))
            raise ConfigError(f"{word} chooses nothing; leave it out, or name one of: {choices}")
