"""A text and its whole translation, to compare with what faults leave of it."""

import sys
from pathlib import Path

import pytest

from seq2seq.hardware import n_cores

if sys.platform != "linux" or n_cores() < 2:  # elsewhere workers are threads, and one core has none
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.faults.signals_in_pairs import Pairs

    @pytest.fixture(scope="session")
    def pairs(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Pairs:
        return Pairs(tmp_path_factory.mktemp("pairs"), trained_run)
