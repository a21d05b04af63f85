"""A run to export, and lines to compare on."""

from pathlib import Path

import pytest

from seq2seq.artifacts.checkpoint import write_model
from tests.export.exporting import MODEL
from tests.translation.engines.models import SENTENCES, run_content


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    write_model(run_content(MODEL), folder / "checkpoints" / "model.ckpt", step=1)
    return folder


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A few lines to compare with."""
    file = tmp_path / "lines.fr"
    file.write_text("\n".join(["", *SENTENCES, "  ", "trop long " * 20]) + "\n", encoding="utf-8")
    return file
