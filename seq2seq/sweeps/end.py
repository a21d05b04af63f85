"""What is told when all jobs of a sweep have been done: to W&B, and to whoever started it."""

from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.errors import command
from seq2seq.exit_status import note
from seq2seq.training.sweep_summary import summarise_if_tracked


def end_of_sweep(sweep: SweepDirectory) -> int:
    """Give W&B the table of all scores, and list the jobs that are not finished, each with the reason.

    Returns:
        The exit status: 0 if all are finished, 2 if not.
    """
    summarise_if_tracked(sweep.path)
    jobs = sweep.jobs()
    missing = [job.name for job in jobs if not sweep.run(job.name).is_scored]
    told = f"{len(jobs) - len(missing)} of {len(jobs)} jobs are finished"
    if not missing:
        note(f"\n{told}; their scores: {command('compare', sweep.path)}")
        return 0
    note(f"\n{told}; not finished:")
    for name in missing:
        note(f"  {name}: {sweep.error(name) or 'was not begun'}")
    note(f"try again what is missing with: {command('train', f'resume={sweep.path}')}")
    return 2
