"""How many cores there are for this process."""

import math
import os
from contextlib import suppress
from pathlib import Path

# Of a container: microseconds in each period, such as "200000 100000", and the two numbers as older systems have them.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_OLD_QUOTA = [Path("/sys/fs/cgroup/cpu", name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]


def n_cores() -> int:
    """The cores that this process may use. A container or `taskset` may allow fewer than the machine has."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # there is no such file, or it says "max"
        files = [_QUOTA] if _QUOTA.exists() else _OLD_QUOTA
        used, period = map(int, " ".join(file.read_text() for file in files).split())
        if used > 0:  # -1: no limit
            n = min(n, math.ceil(used / period))
    return n
