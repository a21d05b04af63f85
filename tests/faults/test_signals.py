"""Signals in pairs: with idle workers and in the middle of a translation, and at random moments."""

import signal
from pathlib import Path

import pytest

from tests.faults.programs import Program, n_kept
from tests.faults.signals_in_pairs import Pairs
from tests.nightly import drawn


def test_pairs_of_signals_end_a_translation_in_order(pairs: Pairs, tmp_path: Path) -> None:
    def has_workers(program: Program, output: Path) -> bool:
        return bool(program.await_workers())

    def has_kept_lines(program: Program, output: Path) -> bool:
        return n_kept(output) > 0

    term, interrupt, hangup, kill = signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL
    assert pairs.fault_once(has_workers, tmp_path / "1", term, hangup) == ""
    n_resumed = pairs.n_resumed
    assert pairs.fault_once(has_kept_lines, tmp_path / "2", interrupt, interrupt) == ""
    assert pairs.n_resumed == n_resumed + 1
    assert pairs.fault_once(has_kept_lines, tmp_path / "3", kill, kill) == ""
    assert pairs.n_resumed == n_resumed + 2


@pytest.mark.nightly
def test_pairs_of_signals_at_any_moment_end_a_translation_in_order(pairs: Pairs, tmp_path: Path) -> None:
    draw = drawn("signals")
    assert [fault for n in range(60) if (fault := pairs.fault(tmp_path / str(n), draw))] == []
