"""A disk that becomes full in the middle of the work, a device that is full, and two runs that write one file."""

from pathlib import Path

from tests.devices import device, needs_devices
from tests.faults.programs import Program, n_kept
from tests.faults.signals_in_pairs import Pairs
from tests.processes import until
from tests.translating import run_cli


def test_a_disk_that_becomes_full_is_one_sentence_and_the_work_can_go_on(pairs: Pairs, tmp_path: Path) -> None:
    """No file may grow beyond some kilobytes. What the program knows about its own is much smaller than that."""
    n_bytes = 3000
    target, lines = tmp_path / "out", pairs.whole.splitlines(keepends=True)
    with Program("--model", pairs.model, "--output", target, limits={"RLIMIT_FSIZE": n_bytes}) as program:
        sources = pairs.text.splitlines(keepends=True)
        program.give(b"".join(sources[:40]))
        until(lambda: n_kept(target) == 40)
        assert program.end(b"".join(sources[40:])) == (2, "")
    kept = f"translated lines are kept in {target}.partial; continue with --resume"
    assert program.told.count("error: ") == 1 and "Traceback" not in program.told
    assert f"error: cannot write {target}: File too large\n" in program.told
    n_lines = int(program.told.partition(f" {kept}")[0].split()[-1])
    assert 40 <= n_lines < len(lines)
    partial = (tmp_path / "out.partial").read_bytes()
    assert partial.startswith(b"".join(lines[:n_lines])) and len(partial) <= n_bytes
    with Program(*pairs.options, "--output", target, "--resume") as program:
        assert program.end() == (0, ""), program.told
    assert f"after {n_lines} of an earlier run" in program.told
    assert target.read_bytes() == pairs.whole


@needs_devices
def test_a_full_device_as_stdout_is_one_sentence(pairs: Pairs, tmp_path: Path) -> None:
    with device(tmp_path, "full").open("wb", buffering=0) as full, Program(*pairs.options, stdout=full) as program:
        assert program.status() == 2
    assert program.told.endswith("error: cannot write stdout: No space left on device\n")
    assert program.told.count("error") == 1 and "Traceback" not in program.told


def test_of_two_runs_that_write_one_file_the_second_is_refused(pairs: Pairs, tmp_path: Path) -> None:
    target = tmp_path / "out"
    with Program("--model", pairs.model, "--output", target) as first:
        first.await_workers()
        for _ in range(2):  # the first refusal leaves the lock where it is
            status, _, told = run_cli(*pairs.options, "--output", target)
            assert (status, f"error: {target} is being written by another process" in told) == (2, True), told
        assert run_cli(*pairs.options, "--output", tmp_path / "other")[0] == 0  # beside it
        assert first.end(pairs.text) == (0, "")
    assert target.read_bytes() == (tmp_path / "other").read_bytes() == pairs.whole
