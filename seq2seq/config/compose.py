"""Words to a composed configuration, as `train.py` reads them, for a program that is no command."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import open_dict
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config.command import PATHS, Composed, path_word, readable, sentence_of
from seq2seq.config.run import RunConfig
from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir
from seq2seq.plugins import import_plugins


@contextmanager
def composed(words: Sequence[str], config_dir: str | Path | None = None) -> Iterator[Composed]:
    """One run, new or resumed. In the block, `${hydra:...}` in its configuration has an answer.

    Args:
        config_dir: a directory with more presets.
    Raises:
        ConfigError: the words describe no run.
        PluginError: a plugin cannot be imported.
    """
    _check_words(words)
    readable_words = [readable(word, is_sweep=False) for word in words]
    if config_dir is not None:
        readable_words.append(f"hydra.searchpath=[{path_word('', checked_folder(Path(config_dir)))[1:]}]")
    ConfigStore.instance().store(name="schema", node=RunConfig)
    hydra, context = GlobalHydra.instance().hydra, HydraConfig.instance().cfg  # of a program that uses Hydra itself
    GlobalHydra.instance().clear()
    try:
        with telling_errors(), initialize_config_dir(str(conf_dir()), job_name="train", version_base="1.3"):
            cfg = compose("train", readable_words, return_hydra_config=True)
            HydraConfig.instance().set_config(cfg)
            overrides = list(cfg.hydra.overrides.task)
            with open_dict(cfg):
                del cfg["hydra"]
            _ = [cfg[key] for key in PATHS]  # what is wrong with them is told here
        import_plugins(cfg.plugins)
        yield Composed(cfg, overrides)
    finally:
        GlobalHydra.instance().hydra = hydra
        HydraConfig.instance().cfg = context


def preset_folders() -> list[Path]:
    """Where the presets of the command that is composed lie, those of the project first."""
    sources = HydraConfig.get().runtime.config_sources if HydraConfig.initialized() else ()
    return [conf_dir(), *(Path(source.path) for source in sources if source.schema == "file")]


@contextmanager
def telling_errors() -> Iterator[None]:
    """In this block, what Hydra refuses is one sentence.

    Raises:
        ConfigError: that is what happened.
    """
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(one_sentence(error)) from error
    except (OSError, RecursionError, ValueError) as error:  # such as a number of more digits than Python reads
        raise ConfigError(f"Hydra cannot read these words ({error}); correct them") from error


def one_sentence(error: BaseException) -> str:
    """The message that a user can act on: of an unknown preset, or of the first error in the chain that names a key."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, choice = error.missing_cfg_file.rpartition("/")
        more = "--config-dir=DIR adds your own (docs/configuration.md)"
        if group == "hydra/launcher":
            more = "pip install hydra-joblib-launcher or hydra-submitit-launcher adds more (docs/runs.md)"
        return f"{group}={choice} is not a preset; choose one of: {', '.join(error.options)}; {more}"
    if isinstance(error, OverrideParseException):
        return (
            f"Hydra cannot read {error.override}; in a list or a mapping, put text into quotes, as in "
            "\"data.test=['été']\""
        )
    return sentence_of(error)


def _check_words(words: Sequence[str]) -> None:
    """
    Raises:
        ConfigError: they are no words of one run.
    """
    if isinstance(words, str):
        raise ConfigError(f"{words!r} is one text; give a list of words, such as {words.split()!r}")
    for word in words:
        if word.startswith("-"):
            raise ConfigError(f"{word} is an option of train.py; leave it out; config_dir=DIR is --config-dir=DIR")


def checked_folder(presets: Path, option: str = "config_dir") -> Path:
    """
    Args:
        option: which named it.
    Raises:
        ConfigError: it is no directory, or has a preset of a name that is taken, which Hydra would pass over.
    """
    if not presets.is_dir():
        raise ConfigError(f"{option}={presets} is no directory; give the one that holds experiment/NAME.yaml")
    for file in presets.rglob("*.yaml"):
        if (conf_dir() / (name := file.relative_to(presets))).exists():
            raise ConfigError(f"{file}: there is a preset {name.with_suffix('')} already; give yours another name")
    return presets.absolute()
