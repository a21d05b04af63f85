"""The charts of a report as files for papers."""

import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import pytest

from seq2seq.cli import main
from seq2seq.reports import style
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.pictures import write_pictures
from seq2seq.reports.style import COLOURS
from tests.reports.reported import analysis, finished_run


def text_of(svg: Path) -> str:
    return " ".join("".join(element.itertext()) for element in ET.parse(svg).iter("{http://www.w3.org/2000/svg}text"))


def test_each_chart_is_a_png_and_an_svg_with_labels_and_units(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    run.write_analysis("news", analysis().as_json())
    files = write_pictures(AnalysedRun.read(run), tmp_path / "pictures")
    assert {file.relative_to(tmp_path / "pictures").as_posix() for file in files} == {
        f"{name}.{ending}"
        for name in ("loss", "quality", "learning_rate", "news/source_length", "news/attention_1")
        for ending in ("png", "svg")
    }
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG" if file.suffix == ".png" else b"<?xml")
    loss = tmp_path / "pictures/loss.svg"
    assert "optimizer step" in text_of(loss) and "nats per token" in text_of(loss)
    assert COLOURS[0].lower() in loss.read_text()
    slices = text_of(tmp_path / "pictures/news/source_length.svg")
    assert "1 to 5 words (1)" in slices and "with 95% interval" in slices
    assert "▁chien" in text_of(tmp_path / "pictures/news/attention_1.svg")

    main(["report", str(run.path), "--pictures", str(tmp_path / "again")])
    assert run.report_file.is_file()
    again = [tmp_path / "again" / file.relative_to(tmp_path / "pictures") for file in files]
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in files]


def test_pictures_leave_the_screen_of_a_notebook_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "backend", "pdf")  # stands for a notebook's own
    with style.panels(1) as (figure, _):
        style.save(figure, tmp_path / "picture.png")
    assert matplotlib.rcParams["backend"] == "pdf"
