"""How many cores there are for this process."""

import os


def n_cores() -> int:
    """The cores that this process may use. A container or `taskset` may allow fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
