"""A search space: which keys a search varies, between which values. Read from YAML and checked before any trial.

metric: valid/bleu            what decides which trial is best; each trial has it as its trainer.monitor
trials: 20                    how many there are, with those that fail or are pruned
seed: 1                       of what is drawn
random_trials: 8              the first ones are drawn at random, and teach the sampler (TPE); none of them is pruned
prune_from: 2                 the first validation at which a trial ends if it is worse than the median; 0: none ends
words: [experiment=...]       words of train.py for all trials
space:
  optim.lr: {low: 1e-3, high: 1e-1, log: true}      a number; of a key that takes whole numbers, a whole one
  model.dropout: {low: 0.0, high: 0.4, step: 0.1}   one of 0.0, 0.1, 0.2, 0.3, 0.4
  model.positions: {choices: [rotary, learned]}     one of these; also the presets of a group: model: {...}
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.config import RunConfig, describe, unknown_key
from seq2seq.config.command import path_word
from seq2seq.config.on_resume import RUNTIME, classes, value_of
from seq2seq.config.trainer import FALLING
from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Value = float | int | str | bool | None
_PLAIN = re.compile(r"(?!(?:null|true|false|nan|inf)$)[A-Za-z_/][\w./-]*", re.ASCII | re.IGNORECASE)  # a text to Hydra


@dataclass(kw_only=True)
class Axis:
    """The values of a key: numbers from `low` to `high`, both included, or one of `choices`."""

    low: float | None = None
    high: float | None = None
    step: float | None = None
    log: bool = False
    choices: list[Any] = field(default_factory=list)


@dataclass(kw_only=True)
class Space:
    """What a search varies, how, and how long."""

    space: dict[str, Axis] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    metric: str = "valid/bleu"
    trials: int = 20
    seed: int = 1
    random_trials: int = 8
    prune_from: int = 2

    @property
    def minimizes(self) -> bool:
        return self.metric in FALLING

    def distributions(self) -> "dict[str, BaseDistribution]":
        """The axes for Optuna, which checks them."""
        return {key: _distribution(key, axis) for key, axis in self.space.items()}

    def problems(self) -> Iterator[str]:
        if not self.space:
            yield "has no keys; write space: and below it keys with values, as optim.lr: {low: 1e-4, high: 1e-2}"
        for name in ("trials", "seed", "random_trials", "prune_from"):
            if getattr(self, name) < (least := int(name == "trials")):
                yield f"{name}={getattr(self, name)} is below {least}"
        for key, axis in self.space.items():
            try:
                _distribution(key, axis)
            except ValueError as error:
                yield f"{key}: {error}"


def find_space(name: str) -> Space:
    """The search space in a file, or the one of this name in conf/search.

    Raises:
        ConfigError: there is none, or it is none.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    file, preset = Path(name), conf_dir() / "search" / f"{name}.yaml"
    if not file.exists() and not preset.is_file():
        names = ", ".join(sorted(path.stem for path in preset.parent.glob("*.yaml")))
        raise ConfigError(f"{name} is neither a file, nor a search's directory, nor a space in conf/search: {names}")
    try:
        content = OmegaConf.load(file if file.exists() else preset)
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{name}: cannot be read as YAML ({' '.join(str(error).split())})") from error
    return read_space(content, name)


def read_space(content: Any, where: str) -> Space:
    """
    Args:
        content: containers; see the top of this file.
        where: begins each message.
    Raises:
        ConfigError: it is no search space.
    """
    from omegaconf import OmegaConf, SCMode
    from omegaconf.errors import OmegaConfBaseException

    try:
        merged = OmegaConf.merge(OmegaConf.structured(Space), content)
        # Unresolved: a secret stays the name of its variable.
        space = OmegaConf.to_container(merged, structured_config_mode=SCMode.INSTANTIATE)
    except (OmegaConfBaseException, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        key = getattr(error, "full_key", None) or "the file"
        raise ConfigError(f"{where}: {key}: {reason}; see the top of seq2seq/sweeps/space.py for the form") from error
    assert isinstance(space, Space)
    if problems := list(space.problems()):
        raise ConfigError("\n".join(f"{where}: {problem}" for problem in problems))
    return space


def word(key: str, value: Value) -> str:
    """The word of `train.py` that gives a key a value."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return path_word(key, value)
    if isinstance(value, float):
        return f"{key}={value:.10g}"  # a step of 0.1 would leave 0.30000000000000004
    return f"{key}={json.dumps(value) if value is None or isinstance(value, bool) else value}"


def _distribution(key: str, axis: Axis) -> "BaseDistribution":
    """
    Raises:
        ValueError: the key has no such values.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    marks, is_group = classes(RunConfig), (conf_dir() / key).is_dir() and key != "search"
    if key not in marks and not is_group:
        raise ValueError(unknown_key(key))
    if key == "trainer.monitor" or marks.get(key) == RUNTIME:
        raise ValueError("cannot be searched, since it decides nothing that is computed")
    if axis.choices:
        if axis != Axis(choices=axis.choices) or len(set(map(str, axis.choices))) < len(axis.choices):
            raise ValueError("choices must differ, and cannot be combined with low, high, step or log")
        for value in axis.choices:
            _check_choice(key, value, is_group)
        return CategoricalDistribution(axis.choices)
    kind = None if is_group else type(value_of(RunConfig(), key))
    if kind not in (int, float):
        raise ValueError("is not a number, so it needs {choices: [...]}")
    low, high, step = axis.low, axis.high, axis.step
    if low is None or high is None or not math.isfinite(high - low) or (step or 0) > high - low:
        raise ValueError("needs low, high and perhaps step, which leads from low to high; or choices")
    if kind is float:
        return FloatDistribution(low, high, log=axis.log, step=step)
    if any(number != int(number) for number in (low, high, step or 1)):
        raise ValueError("the key takes whole numbers only")
    return IntDistribution(int(low), int(high), log=axis.log, step=1 if step is None else int(step))


def _check_choice(key: str, value: Any, is_group: bool) -> None:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not isinstance(value, str if is_group else Value):
        raise ValueError(f"{value!r} is not {'the name of a preset' if is_group else 'one text or number'}")
    if not is_group:
        try:
            OmegaConf.update(OmegaConf.structured(RunConfig), key, value)
        except OmegaConfBaseException as error:
            raise ValueError(describe(error).removeprefix(f"{key}: ")) from error
