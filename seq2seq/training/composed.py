"""What Hydra composed of a command, and the configuration of the run that it means, with its name and directory.

A run may start from another one: it goes on with it, or trains its model further.
"""

import dataclasses
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.artifacts.checkpoint import Checkpoint, resumable
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.artifacts.wandb_access import is_reference, pinned, wandb_group
from seq2seq.config import RunConfig, read_config
from seq2seq.config.command import AUTO, Composed, sentence_of
from seq2seq.config.compose import preset_folders
from seq2seq.config.on_resume import HORIZON, IDENTITY, RUNTIME, classes, mark_of, marks, value_of
from seq2seq.errors import ConfigError
from seq2seq.masking import masked_addresses, masked_words
from seq2seq.tokenizer import Tokenizer

# What may differ from the model that a run starts from: not the shape of its weights, not what they mean.
FINETUNABLE_KEYS = tuple(key for key, mark in marks(RunConfig).items() if mark.only_trains)
_LAYERS = ("model.n_encoder_layers", "model.n_decoder_layers")  # of which a new run may keep fewer
_TAKEN = {"finetune": ("model", "tokenizer"), "teacher": ("tokenizer",)}  # sections that come from the model of a key
_LONGEST = 80  # characters of what differs; W&B shows fewer, and takes 128 in all

log = logging.getLogger(__name__)


def run_of(job: Composed) -> tuple[RunConfig, Checkpoint | None]:
    """The configuration of a run, and the checkpoint that it goes on from.

    Raises:
        ConfigError: it cannot work.
        CheckpointError: there is nothing to go on from.
    """
    if job.cfg.resume == AUTO:
        return _started_or_continued(job)
    if job.cfg.resume:
        return _resumed(job)
    return _fresh_config(job), None


def _resumed(job: Composed) -> tuple[RunConfig, Checkpoint]:
    run_dir = Path(job.cfg.resume)
    if names_run_dir(job) and Path(job.cfg.run_dir).absolute() != run_dir.absolute():
        raise ConfigError(
            f"run_dir={job.cfg.run_dir}: a resumed run stays in its directory; resume a copy of {run_dir}, or begin "
            f"another run with its weights: finetune={run_dir}"
        )
    checkpoint = resumable(RunDirectory(run_dir))
    overrides = [override for override in _overrides(job) if not override.startswith("resume=")]
    with _telling_keys():
        return resumed_config(job.cfg, overrides, checkpoint, run_dir), checkpoint


def _started_or_continued(job: Composed) -> tuple[RunConfig, Checkpoint | None]:
    """A new run in a directory that has nothing to go on from, else the rest of the run that is there."""
    check_place(job)
    config = _fresh_config(job)
    config.resume = ""
    run = RunDirectory(Path(config.run_dir))
    if not run.has_checkpoints:
        return config, None
    checkpoint = resumable(run)
    check_changes(config, checkpoint)
    return config, checkpoint


def _fresh_config(job: Composed) -> RunConfig:
    """The configuration of a new run, whose directory nobody else has."""
    config = checked(job)
    run_dir = Path(config.run_dir) if names_run_dir(job) else fresh_directory(Path(config.run_dir))
    config.run_dir = str(run_dir)
    name = run_name(config.name, job.overrides, datetime.now())
    if sweep := SweepDirectory.of_run(run_dir):
        config.logger.wandb_group = wandb_group(config.logger, sweep.group)
        name = f"{config.name} {run_dir.name}"  # the words that all jobs share could leave no room for the others
    config.logger.wandb_name = config.logger.wandb_name or os.environ.get("WANDB_NAME") or name
    return config


def checked(job: Composed) -> RunConfig:
    """The configuration of a new run, as typed objects that can work.

    Raises:
        ConfigError: it cannot work.
    """
    overrides = _overrides(job)
    if job.cfg.resume not in ("", AUTO):
        raise ConfigError(f"resume={job.cfg.resume} goes on with a run that is there; leave it out for a new one")
    with _telling_keys():
        config = config_of_models(job.cfg, overrides)
    if not config.run_dir:
        raise ConfigError("run_dir is empty; name the directory that the run writes to")
    return config


@contextmanager
def _telling_keys() -> Iterator[None]:
    try:
        yield
    except OmegaConfBaseException as error:
        raise ConfigError(sentence_of(error)) from error


def _overrides(job: Composed) -> list[str]:
    """The words of the command that set keys."""
    for empty in {"resume=", "finetune=", "teacher="}.intersection(job.overrides):
        raise ConfigError(f"{empty} names no run; give it a run directory (is a variable unset?) or leave it out")
    return job.overrides


def names_run_dir(job: Composed) -> bool:
    return any(override.startswith("run_dir=") for override in job.overrides)


def check_place(job: Composed) -> None:
    """
    Raises:
        ConfigError: the run may begin or go on, and nothing says where; or it is new, and another one is there.
    """
    if job.cfg.resume == AUTO and not names_run_dir(job):
        raise ConfigError(f"resume={AUTO} needs a directory that is the same at each start; add run_dir=PATH")
    if not job.cfg.resume and names_run_dir(job):
        check_is_free(RunDirectory(Path(job.cfg.run_dir)))


def check_is_free(run: RunDirectory) -> None:
    """
    Raises:
        ConfigError: the directory holds a run that could be continued.
    """
    if run.has_checkpoints:
        raise ConfigError(
            f"run_dir={run.path} holds a run already; continue it with resume={run.path}, or name another run_dir"
        )


def resumed_config(cfg: DictConfig, overrides: Sequence[str], checkpoint: Checkpoint, run_dir: Path) -> RunConfig:
    """The configuration of a checkpoint, with the changes that a resumed run allows (config/on_resume.py).

    Args:
        cfg: the configuration that Hydra composed from the command, with the new values parsed.
        overrides: the words of the command, without `resume=`.
    Raises:
        ConfigError: a key is to change that decides what is computed.
    """
    merged = OmegaConf.create(dataclasses.asdict(read_config(checkpoint.model.config)))
    for override in overrides:
        for key in keys_set_by([override]):
            if key.split(".")[0] not in {item.name for item in dataclasses.fields(RunConfig)}:
                raise ConfigError(
                    f"{override} cannot be used when a run is resumed, which has its configuration; leave it out"
                )
            OmegaConf.update(merged, key, OmegaConf.select(cfg, key), merge=False)
    config = read_config(merged)
    # Another process imports them: what this command names, and what this process has imported. A name that only the
    # saved model has is none of them.
    config.plugins = [*dict.fromkeys([*cfg.plugins, *(name for name in config.plugins if name in sys.modules)])]
    config.run_dir = str(run_dir)
    check_changes(config, checkpoint)
    return config


def keys_set_by(words: Sequence[str]) -> Iterator[str]:
    """The keys that words of a command set; of a preset, those in its file."""
    for word in words:
        key, _, value = word.lstrip("+").partition("=")
        presets = [file for folder in preset_folders() if (file := folder / key / f"{value}.yaml").is_file()]
        if key == "augment":  # one of these says of each share what it is
            yield "data.augment"
        elif "." not in key and presets:
            yield from (f"{key}.{name!s}" for name in OmegaConf.load(presets[0]) if name != "defaults")
        else:
            yield key


def changes(before: RunConfig, now: RunConfig) -> Iterator[tuple[str, str, Any, Any]]:
    """Each key in which a run is asked for otherwise: its name, its class, its old and its new value.

    A batch of `auto` gets the number that was found before.
    """
    if now.batch.is_auto:
        now.batch.max_tokens = before.batch.max_tokens
    for key, mark in classes(RunConfig).items():
        old, new = (masked_addresses(value_of(each, key)) for each in (before, now))  # kept without secrets
        if old != new:
            yield key, mark, old, new


def check_changes(config: RunConfig, checkpoint: Checkpoint) -> None:
    """Say which changes a resumed run makes to the configuration of its checkpoint.

    Raises:
        ConfigError: a key is to change that decides what is computed.
    """
    for key, mark, old, new in changes(read_config(checkpoint.model.config), config):
        if mark == IDENTITY:
            raise ConfigError(
                f"{key} cannot change when a run is resumed, since it decides what is computed: it is {old!r}, not "
                f"{new!r}; leave it as it was, or start a new run from these weights with finetune={config.run_dir}"
            )
        if mark == HORIZON:
            log.info("%s: %r from here on, %r before", key, new, old)


def config_of_models(cfg: DictConfig, overrides: Sequence[str]) -> RunConfig:
    """The composed configuration, with the shape and the subwords of the models that the run starts and learns from.

    Raises:
        ConfigError: the command asks for another shape, or for other subwords.
    """
    override_of = {override.lstrip("+").split("=")[0]: override for override in overrides}
    merged = cfg.copy()
    for role, sections in _TAKEN.items():
        if not cfg[role]:
            continue
        merged[role] = pinned(cfg[role]) if is_reference(cfg[role]) else cfg[role]  # `latest` may be another one soon
        given = TrainedModel.read(merged[role])
        for section in sections:
            for name, value in dataclasses.asdict(getattr(given.config, section)).items():
                key = f"{section}.{name}"
                if key in FINETUNABLE_KEYS:
                    continue
                wanted = OmegaConf.select(cfg, key)
                override = override_of.get(key) or override_of.get(section)
                if override and wanted != value:
                    if key in _LAYERS and isinstance(wanted, int) and wanted < value:
                        continue
                    raise ConfigError(
                        f"{override} does not fit {role}={cfg[role]}: {given.path} has {key}={value}; leave it out "
                        f"(only {', '.join(FINETUNABLE_KEYS)} may differ, and {' and '.join(_LAYERS)} be less)"
                    )
                OmegaConf.update(merged, key, value)
    return read_config(merged)


def given_tokenizer(config: RunConfig, start: TrainedModel | None = None) -> Tokenizer | None:
    """That of the model that a new run starts from, or else of its teacher; None if the run trains one.

    Args:
        start: the first, if it has been read.
    """
    if start:
        return start.tokenizer
    path = config.finetune or config.teacher
    return TrainedModel.read(path).tokenizer if path else None


def fresh_directory(path: Path) -> Path:
    """Make a directory that nobody else has: `path`, or `path-2`, `path-3`, ..., if others were faster.

    Raises:
        ConfigError: it cannot be made.
    """
    for number in count(1):
        attempt = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            attempt.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_be_made(attempt, error) from error
        return attempt
    raise AssertionError("numbers do not end")


def cannot_be_made(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"run_dir={path} cannot be made ({error.strerror}); name another run_dir")


def run_name(experiment: str, overrides: Sequence[str], started: datetime) -> str:
    """The experiment, what the command changes of it, and when:  demo optim.lr=2e-3 seed=2 (11-24 10:16)

    Keys that decide nothing, such as paths and loggers, are left out.

    Args:
        overrides: the words of the command that set keys.
    """
    words = [word.lstrip("+") for word in masked_words(overrides)]
    differs = " ".join(word for word in words if _decides(word.partition("=")[0]))
    if len(differs) > _LONGEST:
        differs = f"{differs[: _LONGEST - 3]}..."
    return " ".join(part for part in (experiment, differs, f"({started:%m-%d %H:%M})") if part)


def _decides(key: str) -> bool:
    """Whether a key, or a group of keys, has a say in what the run computes, and is not told already."""
    return not key.startswith(("experiment", "hydra")) and mark_of(RunConfig, key).on_resume != RUNTIME
