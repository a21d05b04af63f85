"""Signals in pairs, at moments that are drawn anew for each translation."""

import random
from pathlib import Path

import pytest

from tests.faults.signals_in_pairs import Pairs

pytestmark = pytest.mark.slow


def test_pairs_of_signals_end_a_translation_in_order(pairs: Pairs, tmp_path: Path) -> None:
    drawn = random.Random(1)
    assert [fault for n in range(12) if (fault := pairs.fault(tmp_path / str(n), drawn))] == []
