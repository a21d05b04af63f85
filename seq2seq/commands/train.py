"""Launch a training run:  python train.py experiment=multi30k data.dir=PATH

Hydra composes the configuration from `conf/` and the command line; `--help` explains, `--cfg job` shows the result.
`--estimate` prints what the run would take, and does not start it. `-m` makes a sweep of keys with several values: each
of its jobs is a process of its own, which runs `train.py` for one run.
"""

import contextlib
import errno
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.errors import ConfigError, RunError, UserError, command
from seq2seq.exit_status import exit_status, note, raise_if_stopped

if TYPE_CHECKING:  # Hydra takes a tenth of a second to import: too long for the help of all commands
    from omegaconf import DictConfig

    from seq2seq.artifacts.sweep_directory import SweepDirectory
    from seq2seq.config import RunConfig
    from seq2seq.config.command import Composed
    from seq2seq.training.ranks import Ranks

ESTIMATE = "--estimate"
# Why writing can fail: no space, a quota, a limit for the size of files, a disk that went read-only.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_MULTIRUN = frozenset(("-m", "--multirun"))


def run(words: Sequence[str]) -> int:
    """Let Hydra compose a configuration from the words, and train: once, or once for each job of a sweep.

    Returns:
        The exit status: 2 if a job of a sweep failed.
    Raises:
        ConfigError: Hydra refuses the words.
        SystemExit: a signal came.
    """
    from seq2seq.training.launchers import end_with_sweep

    end_with_sweep()
    ranks = _launched()
    is_first = ranks is None or ranks.is_first
    logging.basicConfig(level=logging.INFO if is_first else logging.WARNING, format="%(message)s", stream=sys.stderr)
    if ranks is not None and not ranks.is_first:
        from seq2seq.training.following import follow

        follow(ranks)
        return 0
    with _speaking_for(ranks):
        if ESTIMATE in words:
            if not _MULTIRUN.isdisjoint(words):
                raise ConfigError(f"{ESTIMATE} is for one run; leave -m out, and give each key one value")
            for job in _compose([word for word in words if word != ESTIMATE]):
                _estimate(job, ranks)
            return 0
        jobs = _compose(words)
        if not words:
            data, name = jobs[0].cfg.data, jobs[0].cfg.name
            raise ConfigError(
                f"say what to train: experiment=demo is a start, data=files data.dir=PATH is text of yours, and --help "
                f"shows more; without a word it would be {name!r}, {data.src_lang} to {data.tgt_lang} on {data.name}"
            )
        if not jobs:  # after `--help`, `--cfg` and the like
            return 0

        from seq2seq.sweeps.composed import new_sweep, sweep_to_resume, words_for_all

        if jobs[0].is_job:
            return _do_jobs(new_sweep(jobs), [], words, ranks)
        for job in jobs:
            if sweep := sweep_to_resume(job):
                return _do_jobs(sweep, words_for_all(job, sweep), words, ranks)
            _train(job, ranks)
        return 0


def composed(words: Sequence[str]) -> "RunConfig":
    """The configuration of the run that the words describe, which is not started.

    Raises:
        ConfigError: there is no such run.
    """
    if (config := composed_if_any(words)) is None:
        raise ConfigError("the words must describe one new run; leave out --help and the like")
    return config


def composed_if_any(words: Sequence[str]) -> "RunConfig | None":
    """As `composed`; None if the words only let Hydra print something, as `--help` does."""
    from seq2seq.training.composed import checked

    jobs = _compose(words)
    if not jobs:
        return None
    if len(jobs) != 1 or jobs[0].is_job or jobs[0].cfg.resume:
        raise ConfigError("the words must describe one new run; leave out resume= and options such as -m")
    return checked(jobs[0])


def _compose(words: Sequence[str]) -> "list[Composed]":
    """What Hydra makes of the words: one run, or the jobs of a sweep; nothing if it was asked to print something.

    Raises:
        ConfigError: Hydra refuses the words.
    """
    import hydra
    from hydra.core.config_store import ConfigStore
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from hydra.types import RunMode
    from omegaconf.errors import OmegaConfBaseException

    from seq2seq.config import RunConfig
    from seq2seq.config.command import PATHS, Composed, path_word, readable
    from seq2seq.files import conf_dir

    jobs: list[Composed] = []
    context = HydraConfig.instance().cfg

    def note_job(cfg: "DictConfig") -> None:
        nonlocal context
        raise_if_stopped()  # Hydra's libraries may have swallowed it, and composed something else
        _ = [cfg[key] for key in PATHS]  # which are read before all others: what is wrong with them is told here
        context = HydraConfig.instance().cfg
        hydra_config = HydraConfig.get()
        jobs.append(Composed(cfg, list(hydra_config.overrides.task), hydra_config.mode == RunMode.MULTIRUN))

    logging.getLogger("hydra").setLevel(logging.WARNING)  # it announces jobs that it does not start
    ConfigStore.instance().store(name="schema", node=RunConfig)
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra raises its errors instead of printing them
    argv = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        unwanted = [path_word("hydra.sweep.dir", folder)] if not _MULTIRUN.isdisjoint(words) else []  # multirun.yaml
        sys.argv = [argv[0], *(readable(word, is_sweep=bool(unwanted)) for word in words), *unwanted]  # Hydra reads it
        try:
            _check_choices(words, conf_dir())
            hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="train")(note_job)()
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError(_one_sentence(error)) from error
        except Exception as error:
            raise_if_stopped()
            is_too_long = isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG
            if isinstance(error, (UserError, OSError)) and not is_too_long:
                raise
            # Such as a number of more digits than Python reads: Hydra's grammar accepts what its parser then trips
            # over. A word without = is sought among the presets, even if it is too long for the name of a file.
            raise ConfigError(
                f"Hydra cannot read this command ({error or type(error).__name__}); correct it"
            ) from error
        finally:
            sys.argv = argv
    HydraConfig.instance().cfg = context  # answers ${hydra:...} when the configuration is read
    return jobs


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
        if group == "hydra/launcher" and choice != "basic":  # it would send a function away that only works here
            raise ConfigError(
                f"{word} cannot start the jobs of a sweep, which are commands; leave it out, or use an array "
                "(docs/cluster.md)"
            )
        if choice == "null" and (conf / group).is_dir():  # Hydra would end in a traceback
            choices = ", ".join(sorted(path.stem for path in (conf / group).glob("*.yaml")))
            raise ConfigError(f"{word} chooses nothing; leave it out, or name one of: {choices}")


def _estimate(job: "Composed", ranks: "Ranks | None") -> None:
    """Print what the run would take."""
    from seq2seq.training.composed import checked

    if ranks is not None:
        raise ConfigError(f"{ESTIMATE} measures one process; give the command without a launcher")
    if job.cfg.resume:
        raise ConfigError(f"{ESTIMATE} is for a new run; leave resume={job.cfg.resume} out")
    config = checked(job)

    from seq2seq.training.start_up import check_environment, quick_imports

    check_environment(config.logger)
    with quick_imports():
        from seq2seq.training.estimate import estimate
    print(estimate(config).render())


# --- sweeps ---


def _do_jobs(sweep: "SweepDirectory", more: list[str], words: Sequence[str], ranks: "Ranks | None") -> int:
    """Do the jobs of a sweep that are not finished: in a process for each, or, under a launcher, in its processes.

    Args:
        more: words for each job.
        words: those of this command, to find out what comes before them.
    """
    from seq2seq.sweeps.job_process import TRAIN, JobProcess
    from seq2seq.sweeps.sweep import do_jobs

    if ranks is not None:  # after a failure, nobody knows what the other processes wait for
        return do_jobs(sweep, partial(_do_here, ranks=ranks), more, goes_on_after_failure=False)
    begin, end = sys.orig_argv[: -len(words)], sys.orig_argv[-len(words) :]
    command = [sys.executable, *begin[1:]] if end == list(words) else TRAIN
    return do_jobs(sweep, lambda each: JobProcess(each, command).wait(), more)


def _do_here(words: Sequence[str], ranks: "Ranks") -> int:
    (job,) = _compose(words)
    return exit_status(partial(_train, job, ranks))


# --- one run ---


def _train(job: "Composed", ranks: "Ranks | None") -> None:
    """Do one run. If it is part of a sweep and fails, the reason is left there."""
    try:
        _launch(job, ranks)
    except Exception as error:
        _leave_reason(job, error)
        raise


def _leave_reason(job: "Composed", error: Exception) -> None:
    from seq2seq.artifacts.sweep_directory import SweepDirectory

    run_dir = job.run_dir
    with contextlib.suppress(OSError):  # the error itself is more important
        if sweep := SweepDirectory.of_run(run_dir):
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            sweep.write_error(run_dir.name, reason)


def _launch(job: "Composed", ranks: "Ranks | None") -> None:
    """Do a fresh run, or the rest of an interrupted one.

    Args:
        ranks: all processes, if somebody has started them; otherwise this run starts its own.
    """
    from seq2seq.training.composed import run_of

    config, place, checkpoint = run_of(job)

    from seq2seq.training.start_up import check_environment, quick_imports

    check_environment(config.logger)
    # Imported only now: they take seconds, and a mistyped key should not wait for them.
    with quick_imports():
        from seq2seq.artifacts.run_directory import RunDirectory
        from seq2seq.training.run import train
        from seq2seq.training.stop_signals import StoppedAtOnce, TrainingInterrupted
        from seq2seq.training.workers import started

    run = RunDirectory(Path(config.run_dir))
    going_on = f"continue with: {command('train', f'resume={run.path}')}"
    try:
        with started(config, run) if ranks is None else contextlib.nullcontext(ranks) as all_ranks:
            train(config, checkpoint, sweep=place, ranks=all_ranks)
    except TrainingInterrupted as interrupted:
        note(f"stopped and saved; {going_on}")
        sys.exit(128 + interrupted.signum)
    except (KeyboardInterrupt, StoppedAtOnce):
        note(f"stopped at once; {going_on if run.has_checkpoints else 'nothing was saved yet'}")
        sys.exit(128 + signal.SIGINT)
    except SystemExit:  # a signal where there was nothing to save: while text is prepared, in the selection, in a test
        note(f"stopped at once; {going_on if run.has_checkpoints else 'nothing was saved yet'}")
        raise
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):  # torch raises it wherever the run just is
            raise
        remedy = going_on if run.has_checkpoints else "start the run again"
        raise RunError(
            "a process that makes batches was killed, most likely because memory ran out; batch.n_workers=0 needs "
            f"none; {remedy}"
        ) from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"make room, then {going_on}" if run.has_checkpoints else "make room, or name another run_dir"
        raise UserError(f"run_dir={run.path} cannot be written to ({error.strerror}); {remedy}") from error
    finally:
        with contextlib.suppress(OSError):  # it is empty only if the run was refused; rmdir leaves any other
            run.path.rmdir()


def _one_sentence(error: BaseException) -> str:
    """The message that a user can act on: of an unknown preset, or of the first error in the chain that names a key."""
    from hydra.errors import MissingConfigException, OverrideParseException

    from seq2seq.config.command import sentence_of

    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, choice = error.missing_cfg_file.rpartition("/")
        return f"{group}={choice} is not a preset; choose one of: {', '.join(error.options)}"
    if isinstance(error, OverrideParseException):
        return (
            f"Hydra cannot read {error.override}; in a list or a mapping, put text into quotes, as in "
            "\"data.test=['été']\""
        )
    return sentence_of(error)
