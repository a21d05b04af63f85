"""What is told when all jobs of a sweep have been done."""

from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.exit_status import note


def end_of_sweep(sweep: SweepDirectory) -> int:
    """List the jobs that are not finished, each with the reason.

    Returns:
        The exit status: 0 if all are finished, 2 if not.
    """
    jobs = sweep.jobs()
    missing = [job.name for job in jobs if not sweep.run(job.name).is_scored]
    told = f"{len(jobs) - len(missing)} of {len(jobs)} jobs are finished"
    if not missing:
        note(f"\n{told}; their scores: python -m seq2seq compare {sweep.path}")
        return 0
    note(f"\n{told}; not finished:")
    for name in missing:
        note(f"  {name}: {sweep.error(name) or 'was not begun'}")
    note(f"try again what is missing with: python train.py resume={sweep.path}")
    return 2
