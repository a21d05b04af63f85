"""How many cores there are for this process."""

import math
import os
from contextlib import suppress
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds in each period, such as "200000 100000"


def n_cores() -> int:
    """The cores that this process may use. A container or `taskset` may allow fewer than the machine has."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # there is no such file, or it says "max"
        used, period = map(int, _QUOTA.read_text().split())
        n = min(n, math.ceil(used / period))
    return n
