"""Launch a training run:  python train.py experiment=multi30k data.dir=PATH

Hydra composes the configuration from `conf/` and the command line; `--help` explains, `--cfg job` shows the result.
"""

import contextlib
import errno
import logging
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.errors import ConfigError, UserError
from seq2seq.exit_status import exit_status, note

if TYPE_CHECKING:  # Hydra takes a tenth of a second to import: too long for the help of all commands
    from omegaconf import DictConfig

    from seq2seq.artifacts.checkpoint import Checkpoint
    from seq2seq.config import RunConfig

# Why writing can fail: no space, a quota, a limit for the size of files, a disk that went read-only.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def run(words: Sequence[str]) -> None:
    """Let Hydra compose a configuration from the words, and train: once, or once for each job of a sweep.

    Raises:
        ConfigError: Hydra refuses the words.
        SystemExit: a job did not come to its end.
    """
    import hydra
    from hydra.core.config_store import ConfigStore
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from seq2seq.config import RunConfig
    from seq2seq.files import conf_dir

    logging.basicConfig(level=logging.WARNING if _is_child() else logging.INFO, format="%(message)s", stream=sys.stderr)
    ConfigStore.instance().store(name="schema", node=RunConfig)
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra raises its errors instead of printing them
    _check_choices(words, conf_dir())
    argv = sys.argv

    def job(cfg: "DictConfig") -> None:
        sys.argv = argv  # Lightning starts further processes with it
        if status := exit_status(partial(_launch, cfg)):  # end here, before Hydra announces a crash
            sys.exit(status)

    sys.argv = [argv[0], *words]  # Hydra reads it
    try:
        hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="train")(job)()
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_one_sentence(error)) from error
    finally:
        sys.argv = argv


def _check_choices(words: Sequence[str], conf: Path) -> None:
    for word in words:
        group, _, choice = word.lstrip("+").partition("=")
        if choice == "null" and (conf / group).is_dir():  # Hydra would end in a traceback
            choices = ", ".join(sorted(path.stem for path in (conf / group).glob("*.yaml")))
            raise ConfigError(f"{word} chooses nothing; leave it out, or name one of: {choices}")


def _launch(cfg: "DictConfig") -> None:
    """Do one job: a fresh run, or the rest of an interrupted one."""
    from omegaconf.errors import OmegaConfBaseException

    try:
        config, checkpoint = _resumed(cfg) if cfg.resume else (_fresh_config(cfg), None)
    except OmegaConfBaseException as error:
        raise ConfigError(_one_sentence(error)) from error

    # Imported only now: they take seconds, and a mistyped key should not wait for them.
    from seq2seq.training.start_up import quick_imports

    with quick_imports():
        from seq2seq.artifacts.run_directory import RunDirectory
        from seq2seq.training.callbacks.recovery import StoppedAtOnce, TrainingInterrupted
        from seq2seq.training.run import train

    run = RunDirectory(Path(config.run_dir))
    command = f"continue with: python train.py resume={run.path}"
    try:
        train(config, checkpoint)
    except TrainingInterrupted as interrupted:
        if not _is_child():
            note(f"stopped and saved; {command}")
        sys.exit(128 + interrupted.signum)
    except (KeyboardInterrupt, StoppedAtOnce):
        note(f"stopped at once; {command if run.has_checkpoints else 'nothing was saved yet'}")
        sys.exit(128 + signal.SIGINT)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"make room, then {command}" if run.has_checkpoints else "make room, or name another run_dir"
        raise UserError(f"run_dir={run.path} cannot be written to ({error.strerror}); {remedy}") from error
    finally:
        with contextlib.suppress(OSError):  # it is empty only if the run was refused; rmdir leaves any other
            run.path.rmdir()


def _resumed(cfg: "DictConfig") -> tuple["RunConfig", "Checkpoint"]:
    from seq2seq.artifacts.checkpoint import resumable
    from seq2seq.artifacts.run_directory import RunDirectory
    from seq2seq.training.composition import resumed_config

    run_dir = Path(cfg.resume)
    checkpoint = resumable(RunDirectory(run_dir))
    overrides = [override for override in _overrides() if not override.startswith("resume=")]
    return resumed_config(cfg, overrides, checkpoint.model, run_dir), checkpoint


def _fresh_config(cfg: "DictConfig") -> "RunConfig":
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from seq2seq.config import read_config
    from seq2seq.training.composition import finetuned_config

    overrides = _overrides()
    config = finetuned_config(cfg, overrides) if cfg.finetune else read_config(cfg)
    if not config.run_dir:
        raise ConfigError("run_dir is empty; name the directory that the run writes to")
    is_named = "SEQ2SEQ_RUN_DIR" in os.environ or any(override.startswith("run_dir=") for override in overrides)
    if "WORLD_SIZE" in os.environ and not is_named:
        raise ConfigError("each process would name its own directory; add run_dir=PATH when launching with torchrun")
    job = HydraConfig.get()
    if job.mode == RunMode.MULTIRUN:  # one directory for each job of a sweep, and one W&B group for all
        config.logger.wandb_group = config.logger.wandb_group or Path(config.run_dir).name
        config.run_dir = str(Path(config.run_dir) / f"{job.job.num:03d}")
    # Lightning starts further processes with this command again: they must not name a directory of their own.
    config.run_dir = os.environ.setdefault("SEQ2SEQ_RUN_DIR", config.run_dir) if _is_child() else config.run_dir
    os.environ["SEQ2SEQ_RUN_DIR"] = config.run_dir
    return config


def _overrides() -> list[str]:
    """The words of the command that set keys."""
    from hydra.core.hydra_config import HydraConfig

    overrides = list(HydraConfig.get().overrides.task)
    for empty in {"resume=", "finetune="}.intersection(overrides):
        raise ConfigError(f"{empty} names no run; give it a run directory (is a variable unset?) or leave it out")
    return overrides


def _is_child() -> bool:
    return int(os.environ.get("LOCAL_RANK", "0")) > 0


def _one_sentence(error: BaseException) -> str:
    """The message that a user can act on: of an unknown preset, or of the first error in the chain that names a key."""
    from hydra.errors import MissingConfigException
    from omegaconf.errors import OmegaConfBaseException

    from seq2seq.config import describe

    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, choice = error.missing_cfg_file.rpartition("/")
        return f"{group}={choice} is not a preset; choose one of: {', '.join(error.options)}"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OmegaConfBaseException) and cause.full_key:
            return describe(cause)
        cause = cause.__cause__ or cause.__context__
    return str(error)
