"""A sweep: jobs that are known before the first one starts, done one after another."""

from collections.abc import Callable, Sequence

from seq2seq.artifacts.lease import LeaseTakenError, leased
from seq2seq.artifacts.sweep_directory import Job, SweepDirectory, job_names
from seq2seq.errors import ConfigError, command
from seq2seq.exit_status import note, tell_at_end
from seq2seq.sweeps.end import end_of_sweep
from seq2seq.sweeps.job_process import why_it_failed

Do = Callable[[Sequence[str]], int]  # trains with these words, and returns the exit status


def begin(sweep: SweepDirectory, jobs: Sequence[Sequence[str]]) -> None:
    """Write down what the jobs of a new sweep are.

    Raises:
        ConfigError: the directory has a sweep already, of other jobs or of the same.
    """
    if sweep.is_sweep:
        raise ConfigError(
            f"run_dir={sweep.path} holds a sweep already; continue it with resume={sweep.path}, or name another run_dir"
        )
    if sweep.is_search or sweep.is_run:
        raise ConfigError(f"run_dir={sweep.path} holds something else than a sweep; name another run_dir")
    sweep.write_jobs([Job(name, words) for name, words in zip(job_names(jobs), jobs, strict=True)])


def check_same(sweep: SweepDirectory, jobs: Sequence[Sequence[str]]) -> None:
    """
    Raises:
        ConfigError: the sweep has other jobs than these words make.
    """
    if [list(job.words) for job in sweep.jobs()] != [list(words) for words in jobs]:
        raise ConfigError(
            f"run_dir={sweep.path} holds a sweep of other jobs; name another run_dir, or go on with it as it is: "
            f"resume={sweep.path} without -m"
        )


def do_jobs(sweep: SweepDirectory, do: Do, more: Sequence[str] = (), *, goes_on_after_failure: bool = True) -> int:
    """Do the jobs that are not finished; those that have failed before come last.

    Args:
        more: words for each of them, such as where its text is now.
        goes_on_after_failure: whether a job that fails leaves the others as they were.
    Returns:
        The exit status: 0 if all jobs are finished, 2 if one has failed.
    Raises:
        ConfigError: another process does them.
        KeyboardInterrupt, SystemExit: a signal came. What is to do is told at the end.
    """
    try:
        with leased(sweep.lease_file):
            return _do_jobs(sweep, do, more, goes_on_after_failure)
    except LeaseTakenError as taken:
        raise ConfigError(
            f"{sweep.path} belongs to a sweep that is at work, {taken.holder}; wait for its end, or stop it"
        ) from taken


def _do_jobs(sweep: SweepDirectory, do: Do, more: Sequence[str], goes_on_after_failure: bool) -> int:
    jobs = sweep.jobs()
    left = [job for job in jobs if not sweep.run(job.name).is_scored]
    if len(left) < len(jobs):
        note(f"{len(jobs) - len(left)} of {len(jobs)} jobs are finished already")
    try:
        for job in sorted(left, key=lambda job: bool(sweep.error(job.name))):
            note(f"job {jobs.index(job) + 1} of {len(jobs)}: {sweep.path / job.name}")
            sweep.forget_error(job.name)
            status = do([*sweep.words(job), *more])
            if status and not sweep.error(job.name):
                sweep.write_error(job.name, why_it_failed(status))
            if status and not goes_on_after_failure:
                break
    except (KeyboardInterrupt, SystemExit) as stop:
        n_finished = sum(sweep.run(job.name).is_scored for job in jobs)
        tell_at_end(
            stop,
            f"the sweep is stopped, with {n_finished} of {len(jobs)} jobs finished; go on with: "
            f"{command('train', f'resume={sweep.path}')}",
        )
        raise
    return end_of_sweep(sweep)
