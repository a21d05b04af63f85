"""What a recipe of `conf/` says, to show in which keys a run differs from it."""

import dataclasses
from functools import cache
from typing import Any

from seq2seq.artifacts.run_directory import flat
from seq2seq.config import RunConfig, read_config
from seq2seq.config.compose import composed
from seq2seq.config.on_resume import mark_of
from seq2seq.files import conf_dir


def settings(config: RunConfig) -> tuple[str, list[dict[str, Any]]]:
    """The recipe that has the name of the run, and each key of its configuration beside that of the recipe."""
    name = config.name if (conf_dir() / "experiment" / f"{config.name}.yaml").is_file() else ""
    there = flat(dataclasses.asdict(preset(name)))
    mine = flat(dataclasses.asdict(config))
    recipe = f"experiment={name}" if name else "the defaults of conf/train.yaml"
    return recipe, [
        {
            "key": key,
            "value": as_text(mine.get(key)),
            "preset": as_text(there.get(key)),
            "is_changed": mine.get(key) != there.get(key) and not mark_of(RunConfig, key).is_place,
        }
        for key in dict.fromkeys([*mine, *there])  # `data.test` may have keys of its own
    ]


@cache
def preset(name: str) -> RunConfig:
    """The configuration of `experiment=NAME`, or of no experiment if the name is empty."""
    with composed(["run_dir=", *([f"experiment={name}"] if name else [])]) as job:
        return read_config(job.cfg)


def as_text(value: Any) -> str:
    """A value as YAML and command lines write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
