"""What Hydra composed of a command, and the configuration of the run that it means."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from seq2seq.artifacts.identity import SweepPlace
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.config import RunConfig, read_config
from seq2seq.config.by_hydra import MULTIRUN, job_of, with_hydra
from seq2seq.config.command import AUTO, Composed, sentence_of
from seq2seq.errors import ConfigError
from seq2seq.training.composition import check_changes, finetuned_config, resumed_config
from seq2seq.training.directories import fresh_directory
from seq2seq.training.run_name import run_name

if TYPE_CHECKING:  # takes long to import, and a mistyped key should not wait for it
    from seq2seq.artifacts.checkpoint import Checkpoint


def composed(words: Sequence[str]) -> RunConfig:
    """The configuration of the run that the words describe, which is not started.

    Raises:
        ConfigError: there is no such run.
    """
    if (config := composed_if_any(words)) is None:
        raise ConfigError("the words must describe one new run; leave out --help and the like")
    return config


def composed_if_any(words: Sequence[str]) -> RunConfig | None:
    """As `composed`; None if the words only let Hydra print something, as `--help` does."""
    found: list[RunConfig] = []

    def check(cfg: DictConfig) -> None:
        if cfg.resume:
            raise ConfigError("the words must describe one new run; leave out resume= and options such as -m")
        found.append(checked(job_of(cfg)))

    if not MULTIRUN.isdisjoint(words):
        raise ConfigError("the words must describe one new run; leave out resume= and options such as -m")
    with_hydra(words, check)
    return found[0] if found else None


def run_of(job: Composed) -> "tuple[RunConfig, SweepPlace | None, Checkpoint | None]":
    """The configuration of a run, its place if it is new and part of a sweep, and the checkpoint that it goes on from.

    Raises:
        ConfigError: it cannot work.
        CheckpointError: there is nothing to go on from.
    """
    if job.cfg.resume == AUTO:
        return _started_or_continued(job)
    if job.cfg.resume:
        config, checkpoint = _resumed(job)
        return config, None, checkpoint
    return *_fresh_config(job), None


def _resumed(job: Composed) -> "tuple[RunConfig, Checkpoint]":
    from seq2seq.artifacts.checkpoint import resumable

    run_dir = Path(job.cfg.resume)
    checkpoint = resumable(RunDirectory(run_dir))
    overrides = [override for override in _overrides(job) if not override.startswith("resume=")]
    with _telling_keys():
        return resumed_config(job.cfg, overrides, checkpoint, run_dir), checkpoint


def _started_or_continued(job: Composed) -> "tuple[RunConfig, SweepPlace | None, Checkpoint | None]":
    """A new run in a directory that has nothing to go on from, else the rest of the run that is there."""
    from seq2seq.artifacts.checkpoint import resumable

    if not names_run_dir(job):
        raise needs_run_dir()
    config, place = _fresh_config(job)
    config.resume = ""
    run = RunDirectory(Path(config.run_dir))
    if not run.has_checkpoints:
        return config, place, None
    checkpoint = resumable(run)
    check_changes(config, checkpoint)
    return config, None, checkpoint


def _fresh_config(job: Composed) -> tuple[RunConfig, SweepPlace | None]:
    """The configuration of a new run, whose directory nobody else has, and its place if it is part of a sweep."""
    config = checked(job)
    run_dir = Path(config.run_dir) if names_run_dir(job) else fresh_directory(Path(config.run_dir))
    config.run_dir = str(run_dir)
    place = None
    if sweep := SweepDirectory.of_run(run_dir):
        from seq2seq.artifacts.wandb_access import wandb_group  # imports what typing errors need not wait for

        place = sweep.place(run_dir.name)
        config.logger.wandb_group = wandb_group(config.logger, place.group)
    name = os.environ.get("WANDB_NAME") or run_name(config.name, job.overrides, datetime.now())
    config.logger.wandb_name = config.logger.wandb_name or name
    return config, place


def checked(job: Composed) -> RunConfig:
    """The configuration of a new run, as typed objects that can work.

    Raises:
        ConfigError: it cannot work.
    """
    overrides = _overrides(job)
    with _telling_keys():
        config = finetuned_config(job.cfg, overrides) if job.cfg.finetune else read_config(job.cfg)
    if not config.run_dir:
        raise ConfigError("run_dir is empty; name the directory that the run writes to")
    return config


@contextlib.contextmanager
def _telling_keys() -> Iterator[None]:
    try:
        yield
    except OmegaConfBaseException as error:
        raise ConfigError(sentence_of(error)) from error


def _overrides(job: Composed) -> list[str]:
    """The words of the command that set keys."""
    for empty in {"resume=", "finetune="}.intersection(job.overrides):
        raise ConfigError(f"{empty} names no run; give it a run directory (is a variable unset?) or leave it out")
    return job.overrides


def names_run_dir(job: Composed) -> bool:
    return any(override.startswith("run_dir=") for override in job.overrides)


def needs_run_dir() -> ConfigError:
    return ConfigError(f"resume={AUTO} needs a directory that is the same at each start; add run_dir=PATH")
