"""Launch a training run:  python train.py experiment=multi30k data.dir=PATH

Hydra composes the configuration from `conf/` and the command line; `--help` explains, `--cfg job` shows the result.
"""

import contextlib
import dataclasses
import errno
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config import DROPOUTS, RunConfig, describe, read_config
from seq2seq.errors import ConfigError, UserError
from seq2seq.files import conf_dir

# What writing can fail with: no space, a quota, a limit for files, a disk that went read-only.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
# What may differ when a run is resumed: how long, where and with which reports, not what is computed.
RESUMABLE_KEYS = ("trainer.", "logger.", "decoding.", "data.dir", "data.cache_dir", "batch.n_workers")
# What may differ from the model that a run starts from: not the shape of its weights, not what they mean.
FINETUNABLE_KEYS = (*(f"model.{name}" for name in DROPOUTS), "tokenizer.subword_regularization")


def main() -> None:
    """The command line: errors of the user's in one sentence, interrupted runs with the command that resumes them."""
    logging.basicConfig(level=logging.WARNING if _is_child() else logging.INFO, format="%(message)s", stream=sys.stderr)
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # torchmetrics loads it, and it reports its font cache
    ConfigStore.instance().store(name="schema", node=RunConfig)
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra hands its errors over instead of printing them
    command = hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="train")(launch)
    for argument in sys.argv[1:]:
        group, _, choice = argument.lstrip("+").partition("=")
        if choice == "null" and (conf_dir() / group).is_dir():  # Hydra would end in a traceback
            choices = ", ".join(sorted(path.stem for path in (conf_dir() / group).glob("*.yaml")))
            sys.exit(f"error: {argument} chooses nothing; leave it out, or name one of: {choices}")
    try:
        command()
    except (HydraException, OmegaConfBaseException) as error:
        sys.exit(f"error: {_one_sentence(error)}")


def launch(cfg: DictConfig) -> None:
    """One job: a fresh run, or the rest of one."""
    try:
        _launch(cfg)
    except (UserError, OmegaConfBaseException) as error:  # here, before Hydra announces a crash
        sys.exit(f"error: {_one_sentence(error)}")


def _launch(cfg: DictConfig) -> None:
    for empty in {"resume=", "finetune="}.intersection(HydraConfig.get().overrides.task):
        raise ConfigError(f"{empty} names no run; give it a run directory (is a variable unset?) or leave it out")
    resumed = None
    if cfg.resume:
        from seq2seq.artifacts.checkpoint import resumable

        resumed = resumable(Path(cfg.resume))
        config = _resumed_config(cfg, resumed[1]["config"])
    else:
        config = _fresh_config(cfg)

    # Imported only now: they take seconds, and a mistyped key should not wait for them.
    from seq2seq.training.callbacks.recovery import StoppedAtOnce, TrainingInterrupted
    from seq2seq.training.run import train

    command = f"continue with: python train.py resume={config.run_dir}"

    def has_saved() -> bool:
        return any((Path(config.run_dir) / "checkpoints").glob("*.ckpt"))

    try:
        train(config, resumed)
    except TrainingInterrupted as interrupted:
        if not _is_child():
            print(f"stopped and saved; {command}", file=sys.stderr)
        sys.exit(128 + interrupted.signum)
    except (KeyboardInterrupt, StoppedAtOnce):
        print(f"stopped at once; {command if has_saved() else 'nothing was saved yet'}", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"make room, then {command}" if has_saved() else "make room, or name another run_dir"
        raise UserError(f"run_dir={config.run_dir} cannot be written to ({error.strerror}); {remedy}") from error
    finally:
        with contextlib.suppress(OSError):  # a run that was refused leaves nothing; any other, a directory with files
            Path(config.run_dir).rmdir()


def _fresh_config(cfg: DictConfig) -> RunConfig:
    config = _finetuned_config(cfg) if cfg.finetune else read_config(cfg)
    if not config.run_dir:
        raise ConfigError("run_dir is empty; name the directory that the run writes to")
    named = "SEQ2SEQ_RUN_DIR" in os.environ or any(o.startswith("run_dir=") for o in HydraConfig.get().overrides.task)
    if "WORLD_SIZE" in os.environ and not named:
        raise ConfigError("each process would name its own directory; add run_dir=PATH when launching with torchrun")
    job = HydraConfig.get()
    if job.mode == RunMode.MULTIRUN:  # one directory for each job of a sweep, and one W&B group for all
        config.logger.wandb_group = config.logger.wandb_group or Path(config.run_dir).name
        config.run_dir = str(Path(config.run_dir) / f"{job.job.num:03d}")
    # Lightning starts further processes with this command again: they must not name a directory of their own.
    config.run_dir = os.environ.setdefault("SEQ2SEQ_RUN_DIR", config.run_dir) if _is_child() else config.run_dir
    os.environ["SEQ2SEQ_RUN_DIR"] = config.run_dir
    return config


def _finetuned_config(cfg: DictConfig) -> RunConfig:
    """What was composed, with the model and the subwords of the model that the run starts from."""
    from seq2seq.artifacts.trained_model import TrainedModel  # imported only now: torch takes seconds

    start = TrainedModel.read(cfg.finetune)
    overrides = {override.lstrip("+").split("=")[0]: override for override in HydraConfig.get().overrides.task}
    merged = cfg.copy()
    for section in ("model", "tokenizer"):
        for name, value in dataclasses.asdict(getattr(start.config, section)).items():
            key = f"{section}.{name}"
            if key in FINETUNABLE_KEYS:
                continue
            override = overrides.get(key) or overrides.get(section)
            if override and OmegaConf.select(cfg, key) != value:
                raise ConfigError(
                    f"{override} does not fit the model to start from: {start.path} has {key}={value}; "
                    f"leave it out (only {', '.join(FINETUNABLE_KEYS)} may differ)"
                )
            OmegaConf.update(merged, key, value)
    return read_config(merged)


def _is_child() -> bool:
    return int(os.environ.get("LOCAL_RANK", "0")) > 0


def _resumed_config(cfg: DictConfig, saved: dict[str, Any]) -> RunConfig:
    """The configuration of the checkpoint, with the few keys changed that may change."""
    changes = [override for override in HydraConfig.get().overrides.task if not override.startswith("resume=")]
    merged = OmegaConf.create(saved)
    for change in changes:
        key = change.split("=")[0]
        if not key.startswith(RESUMABLE_KEYS):
            raise ConfigError(f"{key} cannot change when a run is resumed; only {', '.join(RESUMABLE_KEYS)} can")
        OmegaConf.update(merged, key, OmegaConf.select(cfg, key))  # as Hydra has understood it
    config = read_config(merged)
    config.run_dir = str(cfg.resume)
    return config


def _one_sentence(error: BaseException) -> str:
    """The cause that a user can act on: of a chain of Hydra's errors the innermost that names a key."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OmegaConfBaseException) and cause.full_key:
            return describe(cause)
        cause = cause.__cause__ or cause.__context__
    return str(error)
