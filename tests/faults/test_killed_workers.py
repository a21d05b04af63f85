"""Workers that something else kills: the kernel, earlyoom, a person."""

import os
import signal
from pathlib import Path

from tests.faults.programs import Program, n_kept
from tests.faults.signals_in_pairs import Pairs
from tests.processes import lives, until


def test_a_busy_worker_that_is_killed_costs_no_line(pairs: Pairs, tmp_path: Path) -> None:
    done: list[bytes] = []
    with Program(*pairs.options[:-2], "--output", tmp_path / "out") as program:
        program.give(pairs.text)
        worker, other = program.await_workers()
        done.extend(pairs.whole.splitlines(keepends=True))
        while not is_busy(worker):
            until(lambda: is_busy(worker) or n_kept(tmp_path / "out") > len(done) - 150)  # the last blocks wait
            program.give(pairs.text)
            done.extend(pairs.whole.splitlines(keepends=True))
        os.kill(worker, signal.SIGTERM)
        assert program.end(pairs.text) == (0, ""), program.told
    # It may have done its batch between the look and the kill; test_workers.py kills in the middle of one.
    assert " worker process was killed (SIGTERM)" in program.told
    assert program.told.count("worker process") == 1, program.told
    assert (tmp_path / "out").read_bytes() == b"".join(done) + pairs.whole
    assert not lives(other)


def is_busy(process: int) -> bool:
    """Whether it has worked for a while, so that a batch is in its hands."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[11:13]
    return int(user) + int(system) >= 0.1 * os.sysconf("SC_CLK_TCK")
