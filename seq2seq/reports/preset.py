"""What a recipe of `conf/` says, without Hydra, to show in which keys a run differs from it."""

import dataclasses
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.artifacts.run_directory import flat
from seq2seq.config import RunConfig, read_config
from seq2seq.config.command import PATHS
from seq2seq.config.on_resume import mark_of
from seq2seq.files import conf_dir


@dataclasses.dataclass(frozen=True)
class Setting:
    """One key of a configuration."""

    key: str  # dotted
    value: Any
    preset: Any  # what the recipe has

    @property
    def is_changed(self) -> bool:
        return self.value != self.preset and not mark_of(RunConfig, self.key).is_place


def settings(config: RunConfig) -> tuple[str, list[Setting]]:
    """The recipe that has the name of the run, and each key of its configuration beside that of the recipe."""
    name = config.name if (conf_dir() / "experiment" / f"{config.name}.yaml").is_file() else ""
    there = flat(dataclasses.asdict(preset(name)))
    mine = flat(dataclasses.asdict(config))
    keys = dict.fromkeys([*mine, *there])  # `data.test` may have keys of its own
    recipe = f"experiment={name}" if name else "the defaults of conf/train.yaml"
    return recipe, [Setting(key, mine.get(key), there.get(key)) for key in keys]


@cache
def preset(name: str) -> RunConfig:
    """The configuration of `experiment=NAME`, or of no experiment if the name is empty."""
    chosen: dict[str, str] = {}  # which file of each folder
    layers = list(_layers(conf_dir() / "train.yaml", "_global_", chosen))
    if name:
        layers += _layers(conf_dir() / "experiment" / f"{name}.yaml", "_global_", chosen)
    groups = [
        layer for group, file in chosen.items() for layer in _layers(conf_dir() / group / f"{file}.yaml", group, {})
    ]
    config = OmegaConf.structured(RunConfig)
    for package, content in [*groups, *layers]:
        if package:
            OmegaConf.update(config, package, content)
        else:
            config.merge_with({key: value for key, value in content.items() if key not in ("hydra", *PATHS)})
    return read_config(config)


def as_text(value: Any) -> str:
    """A value as YAML and command lines write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _layers(file: Path, package: str, chosen: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a file and those below it say, each with the section that it is about; what they choose goes to `chosen`."""
    text = file.read_text(encoding="utf-8")
    if said := re.match(r"# @package (\S+)", text):
        package = said[1]
    content: Any = OmegaConf.to_container(OmegaConf.create(text))
    for entry in content.pop("defaults", []):
        if isinstance(entry, str):
            if entry not in ("_self_", "schema"):
                yield from _layers(file.with_name(f"{entry}.yaml"), package, chosen)
            continue
        ((group, option),) = entry.items()
        if option and "hydra" not in group:
            chosen[group.removeprefix("override ").removeprefix("/")] = option
    yield package.removeprefix("_global_"), content
