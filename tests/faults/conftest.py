"""A text with its whole translation, and a whole run, to compare with what faults leave of them."""

import sys
from pathlib import Path

import pytest

from seq2seq.cores import n_cores

if sys.platform != "linux" or n_cores() < 2:  # elsewhere workers are threads, and one core has none
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.faults.runs import CHANGES
    from tests.faults.signals_in_pairs import Pairs
    from tests.training.tiny_runs import arguments, command, write_corpus

    @pytest.fixture(scope="session")
    def pairs(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Pairs:
        return Pairs(tmp_path_factory.mktemp("pairs"), trained_run, n_lines=300)

    @pytest.fixture(scope="session")
    def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
        return write_corpus(tmp_path_factory.mktemp("corpus"), n_train=120)

    @pytest.fixture(scope="session")
    def whole_run(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A run to which nothing happened."""
        run_dir = tmp_path_factory.mktemp("whole") / "run"
        done = command(*arguments(tiny_corpus, run_dir, CHANGES))
        assert done.returncode == 0, done.stderr
        return run_dir
