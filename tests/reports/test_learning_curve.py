from pathlib import Path

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import main
from seq2seq.errors import RunError
from seq2seq.reports.learning_curve import curves
from seq2seq.training.loggers import MetricsCsv


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    logger = MetricsCsv(RunDirectory(tmp_path / "run"))
    for step in (10, 20, 30):
        logger.log_metrics({"train/loss": 7 - step / 10, "valid/loss": 8 - step / 10, "valid/bleu": step / 2}, step)
    return tmp_path / "run"


def test_curves_are_what_was_logged(run_dir: Path) -> None:
    found = curves(RunDirectory(run_dir))
    assert found["valid/bleu"] == ([10, 20, 30], [5.0, 10.0, 15.0])
    assert found["train/loss"] == ([10, 20, 30], [6.0, 5.0, 4.0])


def test_a_picture_is_drawn(run_dir: Path, tmp_path: Path) -> None:
    picture = tmp_path / "new" / "curve.png"
    main(["learning-curve", str(run_dir), "--output", str(picture)])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_directory_without_metrics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has no metrics\.csv"):
        curves(RunDirectory(tmp_path))
