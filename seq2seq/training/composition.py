"""The configuration of a run that starts from another one: a resumed run, or a fine-tuned model."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DROPOUTS, RunConfig, read_config
from seq2seq.errors import ConfigError

# What may differ when a run is resumed: how long, where and with which reports, not what is computed.
RESUMABLE_KEYS = (
    "trainer.",
    "logger.",
    "decoding.",
    "data.dir",
    "data.cache_dir",
    "data.robustness",
    "batch.n_workers",
)
# What may differ from the model that a run starts from: not the shape of its weights, not what they mean.
FINETUNABLE_KEYS = (*(f"model.{name}" for name in DROPOUTS), "tokenizer.subword_regularization")


def resumed_config(composed: DictConfig, overrides: Sequence[str], saved: SavedModel, run_dir: Path) -> RunConfig:
    """The configuration of a checkpoint, with the changes that a resumed run allows.

    Args:
        composed: the configuration that Hydra composed from the command, with the new values parsed.
        overrides: the words of the command, without `resume=`.
    Raises:
        ConfigError: another key is to change.
    """
    merged = OmegaConf.create(dict(saved.config))
    for override in overrides:
        key = override.split("=")[0]
        if not key.startswith(RESUMABLE_KEYS):
            raise ConfigError(f"{key} cannot change when a run is resumed; only {', '.join(RESUMABLE_KEYS)} can")
        OmegaConf.update(merged, key, OmegaConf.select(composed, key))
    config = read_config(merged)
    config.run_dir = str(run_dir)
    return config


def finetuned_config(composed: DictConfig, overrides: Sequence[str]) -> RunConfig:
    """The composed configuration, with the shape and the subwords of the model that the run starts from.

    Raises:
        ConfigError: the command asks for another shape, or for other subwords.
    """
    start = TrainedModel.read(composed.finetune)
    override_of = {override.lstrip("+").split("=")[0]: override for override in overrides}
    merged = composed.copy()
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
