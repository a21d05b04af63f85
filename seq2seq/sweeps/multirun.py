"""A sweep: Hydra's multirun, in which each job is a run, in a process of its own and a directory of its own.

Hydra's launcher chooses when and where: one after another here, several at a time (`hydra/launcher=joblib`), or on a
cluster (`hydra/launcher=submitit_slurm`). What a job is depends on its directory alone: one that is finished is left as
it is, one that was begun goes on, any other begins. So the same command with the same `run_dir` goes on with a sweep.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import OmegaConf

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.sweep_directory import SweepDirectory, as_given, job_name, refuse_secrets
from seq2seq.config.by_hydra import MULTIRUN, job_of, with_hydra
from seq2seq.config.command import AUTO, Composed, path_word, readable
from seq2seq.config.on_resume import IDENTITY, START
from seq2seq.errors import ConfigError, UserError, command
from seq2seq.exit_status import note, tell_at_end
from seq2seq.files import expanded
from seq2seq.sweeps.job_process import JobProcess, why_it_failed
from seq2seq.training.composed import changes, checked, fresh_directory

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig

# Named in `hydra.sweep.subdir`, which each process reads that does a job: it has imported this module then.
OmegaConf.register_new_resolver("job_name", lambda number, differing: job_name(number, [differing]), replace=True)


def words_to_resume(words: Sequence[str]) -> list[str]:
    """The words of the sweep that `resume=` names, with those beside it; none if it names no sweep.

    Raises:
        ConfigError: it names a search.
    """
    named = [word for word in words if word.startswith("resume=")]
    override = _parsed(named[-1]) if named and MULTIRUN.isdisjoint(words) else None
    if override is None:
        return []
    sweep = SweepDirectory(expanded(str(override.value())))
    if sweep.is_search:
        raise ConfigError(f"resume={sweep.path} is a search; go on with: {command('search', sweep.path)}")
    if not sweep.is_sweep:
        return []
    return ["-m", *sweep.overrides(), *(word for word in words if word not in named), path_word("run_dir", sweep.path)]


def do_sweep(words: Sequence[str]) -> int:
    """Do the jobs that are not finished.

    Returns:
        The exit status: 0 if all jobs are finished, 2 if one has failed.
    Raises:
        ConfigError: the first job could not start, or the directory cannot be that of a sweep.
        KeyboardInterrupt, SystemExit: a signal came. What is to do is told at the end.
    """
    refuse_secrets(list(words))
    parsed = [override for word in words if (override := _parsed(word))]
    last = {override.get_key_element(): override for override in parsed}
    for override in parsed:
        if override.value() is None and last[key := override.get_key_element()] is not override:
            raise ConfigError(
                f"{key}=null would be lost, since a sweep takes the last {key} alone; put your {key} into a preset"
            )
    overrides = {override.key_or_group: override for override in parsed}
    fixed = {key for key, each in overrides.items() if not each.is_sweep_override()}
    sweep = _directory(words, overrides)
    if sweep is None:  # after `--help`, `--cfg` and the like
        with_hydra(words, do_job)
        return 0
    excluded = f"hydra.job.config.override_dirname.exclude_keys={sorted(fixed | {'run_dir'})}"
    own = [path_word("run_dir", sweep.path), excluded]
    try:
        with_hydra([*(word for word in words if not word.startswith(("run_dir=", "resume="))), *own], do_job)
    except (KeyboardInterrupt, SystemExit) as stop:
        tell_at_end(stop, f"the sweep is stopped; go on with: {command('train', f'resume={sweep.path}')}")
        raise
    return _end(sweep)


def do_job(cfg: "DictConfig") -> int:
    """Do a job of a sweep, if it is not finished. A launcher of Hydra calls this, here or in another process.

    Returns:
        The exit status of its process.
    """
    from hydra.core.hydra_config import HydraConfig

    context = HydraConfig.get()
    sweep = SweepDirectory(Path(cfg.run_dir))
    run = sweep.run(Path(context.runtime.output_dir).name)
    sweep.forget_error(run.path.name)
    if run.is_scored:
        try:
            problem = _other_settings(run, job_of(cfg))
        except UserError as error:
            problem = str(error)
        if problem:
            note(f"{run.path} {problem}")
            sweep.write_error(run.path.name, problem)
            return 2
        note(f"{run.path} is finished already")
        return 0
    note(f"job {context.job.num + 1}: {run.path}")
    own = [word for word in as_given(context.overrides.task) if not word.startswith(("run_dir=", "resume="))]
    places = [f"--config-dir={each.path}" for each in context.runtime.config_sources if each.provider == "command-line"]
    status = JobProcess([*places, *own, path_word("run_dir", run.path), f"resume={AUTO}"]).wait()
    if status and not sweep.error(run.path.name):
        sweep.write_error(run.path.name, why_it_failed(status))
    with suppress(OSError):  # it is empty only if the run was refused
        run.path.rmdir()
    return status


def _other_settings(run: RunDirectory, job: Composed) -> str:
    """In what a finished run is not the job that is asked for; empty if it is that one.

    Where the run would end, and how it is validated, may differ.
    """
    if job.cfg.hours:  # which has chosen the keys by the speed of the machine
        return ""
    for key, mark, old, new in changes(run.config(), checked(job)):
        if mark in (IDENTITY, START):
            return f"holds a finished run with {key}={old}, not {new}; name another run_dir"
    return ""


def _directory(words: Sequence[str], overrides: Mapping[str, "Override"]) -> SweepDirectory | None:
    """Of the sweep, which nobody else has unless it is named; None if the words only print something.

    Raises:
        ConfigError: it cannot be one, or the first job could not start.
    """
    is_named = "run_dir" in overrides
    if is_named and overrides["run_dir"].is_sweep_override():
        raise ConfigError(
            "run_dir is the directory of the whole sweep, which names those of its jobs; give it one value"
        )
    resume = str(overrides["resume"].value()) if "resume" in overrides else AUTO
    if resume != AUTO:
        raise ConfigError("resume= goes on with one run, or with one sweep as it is; leave -m out")
    if "resume" in overrides and not is_named:
        raise ConfigError(f"resume={AUTO} needs a directory that is the same at each start; add run_dir=PATH")
    found: list[Path] = []

    def check(cfg: "DictConfig") -> None:
        job = job_of(cfg)
        if not (cfg.finetune or cfg.teacher):  # whose configuration takes long to read
            checked(job)
        found.append(Path(cfg.run_dir))

    first = [_first(word) for word in words if word not in MULTIRUN and not word.startswith("resume=")]
    with_hydra(first, check)
    if not found:
        return None
    sweep = SweepDirectory(found[0] if is_named else fresh_directory(found[0]))
    if sweep.is_search or sweep.is_run:
        raise ConfigError(f"run_dir={sweep.path} holds something else than a sweep; name another run_dir")
    return sweep


def _first(word: str) -> str:
    """A word with the first of its values."""
    if not (override := _parsed(word)) or not override.is_sweep_override() or not override.is_discrete_sweep():
        return word
    return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"


def _parsed(word: str) -> "Override | None":
    """What Hydra makes of a word; nothing of an option, or of one that it will refuse."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    if word.startswith("-"):
        return None
    try:
        return OverridesParser.create().parse_override(readable(word, is_sweep=True))
    except (HydraException, ValueError, RecursionError):
        return None


def _end(sweep: SweepDirectory) -> int:
    """List the jobs that are not finished, each with the reason."""
    jobs = sweep.jobs()
    missing = [name for name in jobs if not sweep.run(name).is_scored or sweep.error(name)]
    told = f"{len(jobs) - len(missing)} of {len(jobs)} jobs are finished"
    if not missing:
        note(f"\n{told}; their scores: {command('compare', sweep.path)}")
        return 0
    note(f"\n{told}; not finished:")
    for name in missing:
        note(f"  {name}: {sweep.error(name) or 'was not begun'}")
    note(f"try again what is missing with: {command('train', f'resume={sweep.path}')}")
    return 2
