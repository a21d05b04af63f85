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

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Numbers:
    """The values of a key from `low` to `high`, both included."""

    low: float
    high: float
    step: float | None = None
    log: bool = False

    def problems(self, takes_whole: bool) -> Iterator[str]:
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            yield f"low={self.low} is not below high={self.high}"
        if self.log and self.low <= 0:
            yield f"low={self.low} has no logarithm; give a number above 0, or leave log out"
        if self.log and self.step is not None:
            yield "log and step cannot be combined; leave one out"
        if self.step is not None and not 0 < self.step <= self.high - self.low:
            yield f"step={self.step} does not lead from low to high"
        if takes_whole and any(number != int(number) for number in (self.low, self.high, self.step or 1)):
            yield "the key takes whole numbers only"


@dataclass(frozen=True)
class Choices:
    """The values of a key, or presets of a group."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Space:
    """What a search varies, how, and how long. `axes` holds the values of each key."""

    axes: Mapping[str, Numbers | Choices]
    words: tuple[str, ...] = ()
    metric: str = "valid/bleu"
    trials: int = 20
    seed: int = 1
    random_trials: int = 8
    prune_from: int = 2

    @property
    def minimizes(self) -> bool:
        return self.metric in FALLING

    def distributions(self) -> "dict[str, BaseDistribution]":
        """The same for Optuna."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        found: dict[str, BaseDistribution] = {}
        for key, axis in self.axes.items():
            if isinstance(axis, Choices):
                found[key] = CategoricalDistribution(axis.values)
            elif takes_whole_numbers(key):
                found[key] = IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=int(axis.step or 1))
            else:
                found[key] = FloatDistribution(axis.low, axis.high, log=axis.log, step=axis.step)
        return found

    def as_json(self) -> dict[str, Any]:
        """What `read_space` reads; only axes need a form of their own."""
        content = {name: value for name, value in dataclasses.asdict(self).items() if name != "axes"}
        axes = {
            key: {"choices": list(axis.values)} if isinstance(axis, Choices) else dataclasses.asdict(axis)
            for key, axis in self.axes.items()
        }
        return {**content, "words": list(self.words), "space": axes}


def find_space(name: str) -> Space:
    """The search space in a file, or the one of this name in conf/search.

    Raises:
        ConfigError: there is none, or it is none.
    """
    file, preset = Path(name), conf_dir() / "search" / f"{name}.yaml"
    if not file.is_file() and not preset.is_file():
        names = ", ".join(sorted(path.stem for path in preset.parent.glob("*.yaml")))
        raise ConfigError(f"{name} is neither a file, nor a search's directory, nor a space in conf/search: {names}")
    return read_space_file(file if file.is_file() else preset)


def read_space_file(file: Path) -> Space:
    """
    Raises:
        ConfigError: it is not YAML, or no search space. One message names all that is wrong.
    """
    from omegaconf import OmegaConf

    try:
        content = OmegaConf.to_container(OmegaConf.load(file))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from error
    except Exception as error:  # YAML that is not fails in many ways
        raise ConfigError(f"{file}: is not YAML ({' '.join(str(error).split())})") from error
    return read_space(content, str(file))


def read_space(content: Any, where: str) -> Space:
    """
    Args:
        content: plain containers; see the top of this file.
        where: begins each message.
    Raises:
        ConfigError: it is no search space.
    """
    problems = list(_problems(content))
    if problems:
        raise ConfigError("\n".join(f"{where}: {problem}" for problem in problems))
    axes = {key: _axis(axis) for key, axis in content["space"].items()}
    more = {name: value for name, value in content.items() if name not in ("space", "words")}
    return Space(axes, tuple(content.get("words") or ()), **more)


def word(key: str, value: Value) -> str:
    """The word of `train.py` that gives a key a value."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return path_word(key, value)
    if isinstance(value, float):
        return f"{key}={value:.10g}"  # a step of 0.1 would leave 0.30000000000000004
    return f"{key}={json.dumps(value) if value is None or isinstance(value, bool) else value}"


def takes_whole_numbers(key: str) -> bool:
    """Whether the values of a key are integers."""
    return key in classes(RunConfig) and type(value_of(RunConfig(), key)) is int


def _problems(content: Any) -> Iterator[str]:
    names = {item.name: item.default for item in dataclasses.fields(Space)[2:]}
    if not isinstance(content, dict) or not isinstance(content.get("space"), dict) or not content["space"]:
        yield "has no search space; write space: and below it keys with values, as optim.lr: {low: 1e-4, high: 1e-2}"
        return
    for name in content.keys() - names.keys() - {"space", "words"}:
        yield f"there is no {name!r} in a search space; it takes space, words, {', '.join(names)}"
    for name, default in names.items():
        value = content.get(name, default)
        if type(value) is not type(default) or (isinstance(value, int) and value < (name == "trials")):
            kind = "the name of a metric" if name == "metric" else "a count"
            yield f"{name}={value!r} is not {kind}, such as {default}"
    words = content.get("words") or []
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        yield "words is not a list of words of train.py, such as [experiment=demo, seed=2]"
    groups = {path.name for path in conf_dir().iterdir() if path.is_dir()} - {"search"}
    for key, axis in content["space"].items():
        yield from (f"{key}: {problem}" for problem in _problems_of_axis(str(key), axis, groups))


def _problems_of_axis(key: str, axis: Any, groups: set[str]) -> Iterator[str]:
    marks = classes(RunConfig)
    if key not in marks and key not in groups:
        yield unknown_key(key)
        return
    if key == "trainer.monitor" or marks.get(key) == RUNTIME:
        yield "cannot be searched, since it decides nothing that is computed"
        return
    if not isinstance(axis, dict) or set(axis) - {"low", "high", "step", "log", "choices"}:
        yield f"{axis!r} is neither {{low: ..., high: ...}}, with step or log: true, nor {{choices: [...]}}"
    elif "choices" in axis:
        yield from _problems_of_choices(key, axis, key in groups)
    elif key in groups or type(value_of(RunConfig(), key)) not in (int, float):
        yield "is not a number, so it needs {choices: [...]}"
    elif not _is_number(axis.get("low")) or not _is_number(axis.get("high")) or not _is_number(axis.get("step") or 1):
        yield "low, high and step must be numbers"
    elif not isinstance(axis.get("log", False), bool):
        yield f"log={axis['log']!r} is neither true nor false"
    else:
        yield from _numbers(axis).problems(takes_whole_numbers(key))


def _problems_of_choices(key: str, axis: dict[str, Any], is_group: bool) -> Iterator[str]:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    values = axis["choices"]
    if len(axis) > 1:
        yield "choices cannot be combined with low, high, step or log"
    if not isinstance(values, list) or not values or len(set(map(str, values))) < len(values):
        yield "choices is not a list of different values"
        return
    for value in values:
        if not isinstance(value, Value):
            yield f"{value!r} is not one text or number, as each choice must be"
        elif not is_group:
            try:
                OmegaConf.update(OmegaConf.structured(RunConfig), key, value)
            except OmegaConfBaseException as error:
                yield describe(error).removeprefix(f"{key}: ")
        elif not isinstance(value, str):
            yield f"{value!r} is not the name of a preset"


def _axis(axis: Mapping[str, Any]) -> Numbers | Choices:
    return Choices(tuple(axis["choices"])) if "choices" in axis else _numbers(axis)


def _numbers(axis: Mapping[str, Any]) -> Numbers:
    return Numbers(axis["low"], axis["high"], axis.get("step"), axis.get("log", False))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
