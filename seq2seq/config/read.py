"""From what Hydra composed, or what a checkpoint holds, to typed objects."""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from seq2seq.config.on_resume import marks
from seq2seq.config.run import RunConfig
from seq2seq.errors import ConfigError
from seq2seq.masking import masked_addresses

if TYPE_CHECKING:  # takes long to import; the help of a command does not need it
    from omegaconf import DictConfig
    from omegaconf.errors import OmegaConfBaseException


def read_config(cfg: "DictConfig | Mapping[str, Any]") -> RunConfig:
    """Turn what Hydra composed, or what a checkpoint holds, into typed objects.

    Only what Hydra composed is resolved. What is stored beside a model may be somebody else's text: `${oc.env:HOME}` in
    it would tell the model's author what this machine's environment holds.

    Raises:
        ConfigError: an unknown key (with the nearest valid ones), a wrong type, a stored value that is to be looked up,
            or values that cannot work. One message names all such values.
    """
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not isinstance(cfg, Mapping):
        raise ConfigError(f"the configuration is a {type(cfg).__name__}, and no mapping from keys to values")
    try:
        plain = (
            OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
            if isinstance(cfg, DictConfig)
            else dict(cfg)
        )
        if found := list(_looked_up(plain)):
            raise ConfigError("\n".join(found))
        # The composed config itself would let `+unknown=1` through; plain containers do not.
        config = OmegaConf.to_object(OmegaConf.merge(_schema(), plain))
    except OmegaConfBaseException as error:
        raise ConfigError(describe(error)) from error
    except RecursionError as error:
        raise ConfigError("the configuration is nested deeper than any that this project writes") from error
    assert isinstance(config, RunConfig)
    problems = list(config.problems())
    if isinstance(cfg, DictConfig):  # what is stored was trained before
        problems += config.problems_of_training()
    if problems:
        raise ConfigError("\n".join(problems))
    return config


def kept(config: RunConfig) -> dict[str, Any]:
    """What is kept of a configuration: all that `read_config` reads, but for the secrets of addresses."""
    found: dict[str, Any] = masked_addresses(dataclasses.asdict(config))
    return found


@cache
def _schema() -> "DictConfig":
    """Every key with its type and default. To make it takes 20 ms, to merge something into a copy of it 4."""
    from omegaconf import OmegaConf

    return OmegaConf.structured(RunConfig)


def _looked_up(value: object, key: str = "") -> Iterator[str]:
    """What is wrong with each text that OmegaConf would replace by what it finds elsewhere."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _looked_up(each, f"{key}.{name}".lstrip("."))
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            yield from _looked_up(each, f"{key}[{number}]")
    elif isinstance(value, str) and "${" in value:
        yield f"{key}: {value[:60]!r} names a value that is somewhere else, and is not looked up; write the value here"


def describe(error: "OmegaConfBaseException") -> str:
    """One sentence for a key or value that the schema refuses."""
    from omegaconf.errors import ConfigKeyError, MissingMandatoryValue

    key = str(error.full_key or error.key or "?")
    if isinstance(error, MissingMandatoryValue):
        return f"{key} has no value here; add {key}=... to the command"
    unknown = isinstance(error, (ConfigKeyError, AttributeError))
    sources = ".".join(key.split(".")[:2])
    if sources in ("data.train", "data.valid", "data.test") and (unknown or str(error).startswith("Cannot merge")):
        return f"{sources} has other entries in a preset; put {sources}=null before yours to replace them"
    if unknown:
        return unknown_key(key)
    return f"{key}: {str(error).splitlines()[0]}; the comments in seq2seq/config/ say what it takes"


def unknown_key(key: str) -> str:
    """Say that no key has this name, and which one to use instead."""
    keys = marks(RunConfig)
    names = {*keys, *(key.rpartition(".")[0] for key in keys if "." in key)}  # of keys and sections
    near = difflib.get_close_matches(key, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "conf/ documents every key."
    return f"there is no configuration key {key!r}; {hint}"
