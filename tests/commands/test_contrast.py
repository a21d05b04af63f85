"""`python -m seq2seq contrast`."""

import json
from pathlib import Path

import pytest

from seq2seq.cli import main


def test_it_prints_what_a_model_prefers(trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "contrasts.tsv"
    file.write_text("Ba do.\tBas Dos.\tDos Bas.\tba\tdo\tba\nFe ki.\tBas.\tFes Kis.\tfe\tfe\tki\n")
    options = ["contrast", str(file), "--model", str(trained_run), "--device", "cpu"]
    main(options)
    shown = capsys.readouterr().out
    assert "1 of 2 times, the right translation is the more probable one" in shown
    assert "1 of 2 times, the word is nearer to what it refers to" in shown
    main([*options, "--format", "json", "--layer", "0"])
    first, second = json.loads(capsys.readouterr().out)
    assert first["source"] == "Ba do." and first["margin"] > 0 > second["margin"]
    assert first["nearness"] < 0 < second["nearness"]
