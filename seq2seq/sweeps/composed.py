"""Which sweep a command means: a new one, or the rest of one."""

from collections.abc import Sequence
from pathlib import Path

from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.config import RunConfig
from seq2seq.config.command import AUTO, PATHS, Composed
from seq2seq.config.on_resume import RUNTIME, classes
from seq2seq.errors import ConfigError, command
from seq2seq.sweeps.sweep import begin, check_same
from seq2seq.training.composed import checked, names_run_dir, needs_run_dir
from seq2seq.training.directories import fresh_directory


def new_sweep(jobs: Sequence[Composed]) -> SweepDirectory:
    """Make the directory of a sweep, and write down there what its jobs are.

    Raises:
        ConfigError: no job could start, or the directory cannot be that of this sweep.
    """
    resume, run_dir = jobs[0].cfg.resume, Path(jobs[0].cfg.run_dir)
    if any(job.cfg.resume not in ("", AUTO) for job in jobs):
        raise ConfigError("resume= goes on with one run, or with one sweep as it is; leave -m out")
    is_named = names_run_dir(jobs[0])
    if is_named and len({job.cfg.run_dir for job in jobs}) > 1:
        raise ConfigError(
            "run_dir is the directory of the whole sweep, which names those of its jobs; give it one value"
        )
    if resume == AUTO and not is_named:
        raise needs_run_dir()
    _check_that_one_works(jobs)
    words = [[word for word in job.overrides if not word.startswith(("run_dir=", "resume="))] for job in jobs]
    sweep = SweepDirectory(run_dir if is_named else fresh_directory(run_dir))
    if resume == AUTO and sweep.is_sweep:
        check_same(sweep, words)
    else:
        begin(sweep, words)
    return sweep


def _check_that_one_works(jobs: Sequence[Composed]) -> None:
    """
    Raises:
        ConfigError: none of the jobs has a configuration that works. One that has not fails without the others.
    """
    first: ConfigError | None = None
    for job in jobs:
        if job.cfg.finetune:  # whose configuration takes long to read
            return
        try:
            checked(job)
            return
        except ConfigError as error:
            first = first or error
    assert first is not None
    raise first


def sweep_to_resume(job: Composed) -> SweepDirectory | None:
    """The sweep that `resume=` names, if it does not name a run.

    Raises:
        ConfigError: it names a search.
    """
    sweep = SweepDirectory(Path(job.cfg.resume)) if job.cfg.resume not in ("", AUTO) else None
    if sweep and sweep.is_search:
        raise ConfigError(f"resume={sweep.path} is a search; go on with: {command('search', sweep.path)}")
    return sweep if sweep and sweep.is_sweep else None


def words_for_all(job: Composed, sweep: SweepDirectory) -> list[str]:
    """The words beside `resume=`, which each job gets.

    Raises:
        ConfigError: one would make of the jobs something else.
    """
    words = [word for word in job.overrides if not word.startswith("resume=")]
    for word in words:
        key = word.lstrip("+").partition("=")[0]
        if key in PATHS or classes(RunConfig).get(key) != RUNTIME:
            raise ConfigError(
                f"{word} cannot be used when a sweep goes on, since each job has its own configuration; leave it out, "
                f"or go on with one job alone: resume={sweep.path}/JOB"
            )
    return words
