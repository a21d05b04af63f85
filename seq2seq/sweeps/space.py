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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seq2seq.config import RunConfig, unknown_key
from seq2seq.config.command import path_word
from seq2seq.config.on_resume import RUNTIME, classes, value_of
from seq2seq.config.trainer import FALLING
from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Value = float | int | str | bool | None


@dataclass(kw_only=True)
class Space:
    """What a search varies, how, and how long."""

    space: dict[str, dict[str, Any]] = field(default_factory=dict)
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
            except TypeError:  # Optuna's class has no such arguments
                yield f"{key}: needs numbers low and high, perhaps with step or log; or a list of choices, and no more"

    def samples(self) -> Iterator[list[str]]:
        """Words for all keys; together they have each choice, and both ends of each range."""
        values = [
            [word(key, value) for value in axis.get("choices", (axis.get("low"), axis.get("high")))]
            for key, axis in self.space.items()
        ]
        for number in range(max(map(len, values))):
            yield [words[min(number, len(words) - 1)] for words in values]


def find_space(name: str) -> Space:
    """The search space in a file, or the one of this name in conf/search.

    Raises:
        ConfigError: there is none, or it is none.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    presets = {file.stem: file for file in sorted((conf_dir() / "search").glob("*.yaml"))}
    try:
        return read_space(OmegaConf.load(presets.get(name, name)), name)
    except FileNotFoundError as error:
        raise ConfigError(
            f"{name} is neither a file, nor a search's directory, nor a space in conf/search: {', '.join(presets)}"
        ) from error
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{name}: cannot be read as YAML ({' '.join(str(error).split())})") from error


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
    if isinstance(value, str):
        return path_word(key, value)
    # A step of 0.1 would leave 0.30000000000000004.
    return f"{key}={short(value, 10) if isinstance(value, float) else json.dumps(value)}"


def short(value: Value, digits: int) -> str:
    """A value for people: a fraction has so many digits at most."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _distribution(key: str, axis: Mapping[str, Any]) -> "BaseDistribution":
    """
    Raises:
        ValueError, TypeError: the key has no such values.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    marks, is_group = classes(RunConfig), (conf_dir() / key).is_dir()
    if key not in marks and not is_group:
        raise ValueError(unknown_key(key))
    if key == "trainer.monitor" or marks.get(key) == RUNTIME:
        raise ValueError("cannot be searched, since it decides nothing that is computed")
    kind = None if is_group else type(value_of(RunConfig(), key))
    if "choices" in axis:
        return CategoricalDistribution(**axis)
    if kind not in (int, float):
        raise ValueError("is not a number, so it needs {choices: [...]}")
    return FloatDistribution(**axis) if kind is float else IntDistribution(**axis)
