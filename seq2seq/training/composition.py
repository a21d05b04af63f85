"""The configuration of a run that starts from another one: a resumed run, or a fine-tuned model."""

import dataclasses
import logging
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from seq2seq.artifacts.checkpoint import Checkpoint
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.artifacts.wandb_access import is_reference, pinned
from seq2seq.config import RunConfig, read_config
from seq2seq.config.on_resume import HORIZON, IDENTITY, classes, marks, value_of
from seq2seq.config.read import without_removed
from seq2seq.errors import ConfigError
from seq2seq.masking import masked_addresses

log = logging.getLogger(__name__)

# What may differ from the model that a run starts from: not the shape of its weights, not what they mean.
FINETUNABLE_KEYS = tuple(key for key, mark in marks(RunConfig).items() if mark.only_trains)


def resumed_config(composed: DictConfig, overrides: Sequence[str], checkpoint: Checkpoint, run_dir: Path) -> RunConfig:
    """The configuration of a checkpoint, with the changes that a resumed run allows (config/on_resume.py).

    Args:
        composed: the configuration that Hydra composed from the command, with the new values parsed.
        overrides: the words of the command, without `resume=`.
    Raises:
        ConfigError: a key is to change that decides what is computed.
    """
    merged = OmegaConf.create(dataclasses.asdict(read_config(checkpoint.model.config)))
    for override in overrides:
        key = override.lstrip("+").split("=")[0]
        if key.split(".")[0] not in {item.name for item in dataclasses.fields(RunConfig)}:
            raise ConfigError(
                f"{override} cannot be used when a run is resumed, which has its configuration; leave it out"
            )
        OmegaConf.update(merged, key, OmegaConf.select(composed, key), merge=False)
    config = read_config(merged)
    config.plugins = list(composed.plugins)  # no other process imports what only the saved model names
    config.run_dir = str(run_dir)
    check_changes(config, checkpoint)
    return config


def check_changes(config: RunConfig, checkpoint: Checkpoint) -> None:
    """Say which changes a resumed run makes to the configuration of its checkpoint. `auto` means the number found then.

    Raises:
        ConfigError: a key is to change that decides what is computed.
    """
    before = read_config(checkpoint.model.config)
    if active := without_removed(checkpoint.model.config)[1]:
        raise ConfigError(
            f"the run has {', '.join(f'{key}={value}' for key, value in active.items())}, which is gone; "
            f"go on with the version that began it, or start from its weights with finetune={config.run_dir}"
        )
    if config.batch.is_auto:
        config.batch.max_tokens = before.batch.max_tokens
    for key, mark in classes(RunConfig).items():
        old, new = (masked_addresses(value_of(each, key)) for each in (before, config))  # kept without secrets
        if old != new and mark == IDENTITY:
            raise ConfigError(
                f"{key} cannot change when a run is resumed, since it decides what is computed: it is {old!r}, not "
                f"{new!r}; leave it as it was, or start a new run from these weights with finetune={config.run_dir}"
            )
        if old != new and mark == HORIZON:
            log.info("%s: %r from here on, %r before", key, new, old)


def finetuned_config(composed: DictConfig, overrides: Sequence[str]) -> RunConfig:
    """The composed configuration, with the shape and the subwords of the model that the run starts from.

    Raises:
        ConfigError: the command asks for another shape, or for other subwords.
    """
    is_online = is_reference(composed.finetune)
    name = pinned(composed.finetune) if is_online else composed.finetune  # `latest` may be another one soon
    start = TrainedModel.read(name)
    override_of = {override.lstrip("+").split("=")[0]: override for override in overrides}
    merged = composed.copy()
    merged.finetune = name
    for section in ("model", "tokenizer"):
        for name, value in dataclasses.asdict(getattr(start.config, section)).items():
            key = f"{section}.{name}"
            if key in FINETUNABLE_KEYS:
                continue
            override = override_of.get(key) or override_of.get(section)
            if override and OmegaConf.select(composed, key) != value:
                raise ConfigError(
                    f"{override} does not fit the model to start from: {start.path} has {key}={value}; "
                    f"leave it out (only {', '.join(FINETUNABLE_KEYS)} may differ)"
                )
            OmegaConf.update(merged, key, value)
    return read_config(merged)
