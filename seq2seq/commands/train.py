"""Launch a training run:  python train.py experiment=multi30k data.dir=PATH

Hydra composes the configuration from `conf/` and the command line; `--help` explains, `--cfg job` shows the result.
`--estimate` prints what the run would take, and does not start it.
"""

import contextlib
import errno
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.errors import ConfigError, RunError, UserError
from seq2seq.exit_status import exit_status, note, raise_if_stopped

if TYPE_CHECKING:  # Hydra takes a tenth of a second to import: too long for the help of all commands
    from omegaconf import DictConfig

    from seq2seq.artifacts.checkpoint import Checkpoint
    from seq2seq.artifacts.identity import SweepPlace
    from seq2seq.config import RunConfig
    from seq2seq.training.directories import Sweep
    from seq2seq.training.ranks import Ranks

ESTIMATE = "--estimate"
AUTO = "auto"  # resume=auto: continue if there is something to continue from, else start
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
    from seq2seq.training.directories import Sweep

    ranks = _launched()
    is_first = ranks is None or ranks.is_first
    logging.basicConfig(level=logging.INFO if is_first else logging.WARNING, format="%(message)s", stream=sys.stderr)
    if ranks is not None and not ranks.is_first:
        from seq2seq.training.following import follow

        follow(ranks)
        return
    ConfigStore.instance().store(name="schema", node=RunConfig)
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra raises its errors instead of printing them
    argv, sweep, has_begun = sys.argv, Sweep(), False
    work = partial(_launch, sweep=sweep, ranks=ranks)
    if ESTIMATE in words:
        work, words = partial(_estimate, ranks=ranks), [word for word in words if word != ESTIMATE]

    def job(cfg: "DictConfig") -> None:
        nonlocal has_begun
        raise_if_stopped()  # Hydra's libraries may have swallowed it, and composed something else
        has_begun = True
        sys.argv = argv  # W&B shows it
        if status := exit_status(partial(work, cfg)):  # end here, before Hydra announces a crash
            sys.exit(status)

    sys.argv = [argv[0], *words]  # Hydra reads it
    try:
        with _speaking_for(ranks):
            _check_choices(words, conf_dir())
            if work.func is _estimate and not {"-m", "--multirun"}.isdisjoint(words):  # before Hydra writes a file
                raise ConfigError(f"{ESTIMATE} is for one run; leave -m out, and give each key one value")
            hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="train")(job)()
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_one_sentence(error)) from error
    except Exception as error:
        raise_if_stopped()
        is_too_long = isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG
        if has_begun or (isinstance(error, (UserError, OSError)) and not is_too_long):
            raise
        # Such as a number of more digits than Python reads: Hydra's grammar accepts what its parser then trips over.
        # A word without = is sought among the presets, even if it is too long for the name of a file.
        raise ConfigError(f"Hydra cannot read this command ({error or type(error).__name__}); correct it") from error
    finally:
        sys.argv = argv


def _launched() -> "Ranks | None":
    """This process among those of a run, if somebody has started it as one of several."""
    from seq2seq.training.launchers import leave_interrupts_to_first, may_be_one_of_several
    from seq2seq.training.start_up import quick_imports

    leave_interrupts_to_first()
    if not may_be_one_of_several():
        return None  # without the slow imports
    with quick_imports():
        from seq2seq.training.ranks import launched
        from seq2seq.training.workers import started_here

    return started_here() or launched()


@contextlib.contextmanager
def _speaking_for(ranks: "Ranks | None") -> Iterator[None]:
    """Tell the other processes that somebody has started how this one ends."""
    if ranks is None:
        yield
        return
    from seq2seq.training.ranks import telling_errors

    with telling_errors(ranks):
        yield
        ranks.end()


def _check_choices(words: Sequence[str], conf: Path) -> None:
    for word in words:
        group, _, choice = word.lstrip("+").partition("=")
        if choice == "null" and (conf / group).is_dir():  # Hydra would end in a traceback
            choices = ", ".join(sorted(path.stem for path in (conf / group).glob("*.yaml")))
            raise ConfigError(f"{word} chooses nothing; leave it out, or name one of: {choices}")


def _estimate(cfg: "DictConfig", ranks: "Ranks | None") -> None:
    """Print what the run would take."""
    from omegaconf.errors import OmegaConfBaseException

    if ranks is not None:
        raise ConfigError(f"{ESTIMATE} measures one process; give the command without a launcher")
    try:
        if cfg.resume:
            raise ConfigError(f"{ESTIMATE} is for a new run; leave resume={cfg.resume} out")
        config = _composed(cfg, _overrides())
    except OmegaConfBaseException as error:
        raise ConfigError(_one_sentence(error)) from error

    from seq2seq.training.start_up import check_packages, quick_imports

    check_packages(config.logger)
    with quick_imports():
        from seq2seq.training.estimate import estimate
    print(estimate(config).render())


def _launch(cfg: "DictConfig", sweep: "Sweep", ranks: "Ranks | None") -> None:
    """Do one job: a fresh run, or the rest of an interrupted one.

    Args:
        ranks: all processes, if somebody has started them; otherwise this job starts its own.
    """
    from omegaconf.errors import OmegaConfBaseException

    place = None
    try:
        if cfg.resume == AUTO:
            config, place, checkpoint = _started_or_continued(cfg, sweep)
        elif cfg.resume:
            config, checkpoint = _resumed(cfg)
        else:
            config, place = _fresh_config(cfg, sweep)
            checkpoint = None
    except OmegaConfBaseException as error:
        raise ConfigError(_one_sentence(error)) from error

    from seq2seq.training.start_up import check_packages, quick_imports

    check_packages(config.logger)
    # Imported only now: they take seconds, and a mistyped key should not wait for them.
    with quick_imports():
        from seq2seq.artifacts.run_directory import RunDirectory
        from seq2seq.training.run import train
        from seq2seq.training.stop_signals import StoppedAtOnce, TrainingInterrupted
        from seq2seq.training.workers import started

    run = RunDirectory(Path(config.run_dir))
    command = f"continue with: python train.py resume={run.path}"
    try:
        with started(config, run) if ranks is None else contextlib.nullcontext(ranks) as all_ranks:
            train(config, checkpoint, sweep=place, ranks=all_ranks)
    except TrainingInterrupted as interrupted:
        note(f"stopped and saved; {command}")
        sys.exit(128 + interrupted.signum)
    except (KeyboardInterrupt, StoppedAtOnce):
        note(f"stopped at once; {command if run.has_checkpoints else 'nothing was saved yet'}")
        sys.exit(128 + signal.SIGINT)
    except SystemExit:  # a signal where there was nothing to save: while text is prepared, in the selection, in a test
        note(f"stopped at once; {command if run.has_checkpoints else 'nothing was saved yet'}")
        raise
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):  # torch raises it wherever the run just is
            raise
        remedy = command if run.has_checkpoints else "start the run again"
        raise RunError(
            "a process that makes batches was killed, most likely because memory ran out; batch.n_workers=0 needs "
            f"none; {remedy}"
        ) from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"make room, then {command}" if run.has_checkpoints else "make room, or name another run_dir"
        raise UserError(f"run_dir={run.path} cannot be written to ({error.strerror}); {remedy}") from error
    finally:
        for folder in (run.path, *([run.path.parent] if place else [])):
            with contextlib.suppress(OSError):  # it is empty only if the run was refused; rmdir leaves any other
                folder.rmdir()


def _resumed(cfg: "DictConfig") -> tuple["RunConfig", "Checkpoint"]:
    from seq2seq.artifacts.checkpoint import resumable
    from seq2seq.artifacts.run_directory import RunDirectory
    from seq2seq.training.composition import resumed_config

    run_dir = Path(cfg.resume)
    checkpoint = resumable(RunDirectory(run_dir))
    overrides = [override for override in _overrides() if not override.startswith("resume=")]
    return resumed_config(cfg, overrides, checkpoint.model, run_dir), checkpoint


def _started_or_continued(
    cfg: "DictConfig", sweep: "Sweep"
) -> tuple["RunConfig", "SweepPlace | None", "Checkpoint | None"]:
    """A new run in a directory that has nothing to go on from, else the rest of the run that is there."""
    from seq2seq.artifacts.checkpoint import resumable
    from seq2seq.artifacts.run_directory import RunDirectory
    from seq2seq.training.composition import check_changes

    if not any(override.startswith("run_dir=") for override in _overrides()):
        raise ConfigError(f"resume={AUTO} needs a directory that is the same at each start; add run_dir=PATH")
    config, place = _fresh_config(cfg, sweep)
    config.resume = ""
    run = RunDirectory(Path(config.run_dir))
    if not run.has_checkpoints:
        return config, place, None
    checkpoint = resumable(run)
    check_changes(config, checkpoint.model)
    return config, None, checkpoint


def _fresh_config(cfg: "DictConfig", sweep: "Sweep") -> tuple["RunConfig", "SweepPlace | None"]:
    """The configuration of a new run, whose directory nobody else has, and its place in a sweep."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from seq2seq.training.directories import fresh_directory

    overrides = _overrides()
    config = _composed(cfg, overrides)
    run_dir, is_named = Path(config.run_dir), any(override.startswith("run_dir=") for override in overrides)
    place = None
    if HydraConfig.get().mode == RunMode.MULTIRUN:
        run_dir, place = sweep.directory_of(HydraConfig.get().job.num, run_dir, is_named=is_named)
        config.logger.wandb_group = config.logger.wandb_group or place.group
    elif not is_named:
        run_dir = fresh_directory(run_dir)
    config.run_dir = str(run_dir)
    return config, place


def _composed(cfg: "DictConfig", overrides: list[str]) -> "RunConfig":
    """The configuration of a new run."""
    from seq2seq.config import read_config
    from seq2seq.training.composition import finetuned_config

    config = finetuned_config(cfg, overrides) if cfg.finetune else read_config(cfg)
    if not config.run_dir:
        raise ConfigError("run_dir is empty; name the directory that the run writes to")
    return config


def _overrides() -> list[str]:
    """The words of the command that set keys."""
    from hydra.core.hydra_config import HydraConfig

    overrides = list(HydraConfig.get().overrides.task)
    for empty in {"resume=", "finetune="}.intersection(overrides):
        raise ConfigError(f"{empty} names no run; give it a run directory (is a variable unset?) or leave it out")
    return overrides


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
