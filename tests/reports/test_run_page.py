"""What a page of a run holds, from its files alone. `test_pages_in_browser.py` opens such pages."""

import dataclasses
import json
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from seq2seq.artifacts.provenance import cpu_model, provenance, this_start
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import main
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.run_page import run_page
from seq2seq.training.loggers import MetricsCsv
from tests.reports.reported import TRANSLATIONS, analysis, finished_run, unfinished_run


def data_of(html: str) -> Any:
    """What the page's program reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_says_what_the_run_is_and_what_it_scored(tmp_path: Path) -> None:
    html = run_page(AnalysedRun(finished_run(tmp_path / "run"), {"news": analysis()}))
    found = data_of(html)
    assert "<title>demo: fr to en, seed 7, BLEU 54.5</title>" in html
    assert (found["heading"], found["languages"], found["notes"]) == ("demo: fr to en", ["fr", "en"], [])
    assert found["scores"][0]["metrics"][0]["half_width"] == 1.6
    assert (found["selection"]["selected"], found["selection"]["monitor"]) == ("last (step 30)", "bleu")
    assert found["report"] == "tokenizer: 300 pieces, fingerprint 1f2e"
    assert [sentence["hypothesis"] for sentence in found["analyses"][0]["sentences"]] == TRANSLATIONS
    assert {row["key"] for row in found["config"] if row["is_changed"]} == {"seed", "data.test"}


def test_augmentations_stand_below_their_test_set(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    config = run.config()
    config.data.robustness = True
    run.write_config(config)
    scores = json.loads((run.path / "scores.json").read_text())
    scores["news/upper"] = {"bleu": {"score": 50.0, "mean": 50, "half_width": 2, "signature": "|case:lc|"}}
    (run.path / "scores.json").write_text(json.dumps(scores))
    (test,) = data_of(run_page(AnalysedRun(run, {})))["scores"]
    (row,) = test["augmentations"]
    assert (row["name"], row["score"], row["ignores_case"]) == ("upper", 50.0, True)
    assert row["change"] == pytest.approx(50 - 54.5163)


def test_a_long_curve_is_thinned_to_means_and_keeps_its_shape(tmp_path: Path) -> None:
    logger = MetricsCsv(unfinished_run(tmp_path / "run", losses=[]))
    for step in range(1, 1201):
        logger.log_metrics({"train/loss": step, "progress/hours": step, "progress/tgt_tokens": step}, step)
    (panel,) = data_of(run_page(AnalysedRun.read(RunDirectory(tmp_path / "run"))))["panels"]
    (series,) = panel["series"]
    assert len(series["values"]) == 300
    assert series["values"] == series["steps"]
    assert (series["values"][0], series["values"][-1]) == (2.5, 1198.5)


def test_a_value_that_is_no_number_leaves_a_gap(tmp_path: Path) -> None:
    run = unfinished_run(tmp_path / "run", losses=[5.0, float("nan"), float("inf"), 4.0])
    loss = data_of(run_page(AnalysedRun.read(run)))["panels"][0]["series"][0]
    assert (loss["steps"], loss["values"]) == ([10, 40], [5.0, 4.0])


def test_hours_and_tokens_are_those_that_the_run_counted(tmp_path: Path) -> None:
    run = unfinished_run(tmp_path / "run", losses=[])
    logger = MetricsCsv(run)
    for step, speed, memory in ((1, 100.0, 1.0), (2, 300.0, 1.5), (3, 120.0, 1.25)):
        row = {"train/loss": 5.0, "progress/hours": step / 4, "progress/tgt_tokens": step * 700}
        row |= {"train/process_memory_gb": memory, "train/device_memory_gb": 4 * memory}
        logger.log_metrics(row | {"train/tgt_tokens_per_s": speed}, step)
    logger.log_metrics({"test/news/bleu": 30.0}, 4)  # after training, which took 0.75 hours
    found = data_of(run_page(AnalysedRun.read(run)))
    series = found["panels"][0]["series"][0]
    assert (series["hours"], series["tgt_tokens"]) == ([0.25, 0.5, 0.75], [700, 1400, 2100])
    assert dict(found["machine"]) == {
        "time of training": "45 min",
        "target tokens": "2,100",
        "speed, median": "120 target tokens/s",
        "memory of the process, highest seen after a step": "1.5 GB",
        "memory of the GPU, at most": "6.0 GB",
    }


def test_what_training_waited_for_stands_below_its_time(tmp_path: Path) -> None:
    run = unfinished_run(tmp_path / "run", losses=[])
    took = {"progress/hours": 0.5, "progress/tgt_tokens": 700, "time/validation_s": 90.0}
    MetricsCsv(run).log_metrics(took | {"train/process_memory_gb": 1.0}, 10)
    machine = data_of(run_page(AnalysedRun.read(run)))["machine"]
    assert machine[:2] == [["time of training", "30 min"], ["of that, validations", "90 s"]]


def test_the_page_says_where_the_run_comes_from(tmp_path: Path) -> None:
    run = unfinished_run(tmp_path / "run", losses=[])
    report = {"tokenizer": {"vocab_size": 300, "fingerprint": "1f2e"}, "splits": {}}
    first = provenance({}, this_start(["train.py", "seed=1"], ["a GPU"]), report)
    run.write_provenance(provenance(first, this_start(["train.py", "resume=my run"], []), report))
    found = data_of(run_page(AnalysedRun.read(run)))
    machine = dict(found["machine"])
    assert machine["command"] == "python train.py 'resume=my run'" and machine["started"].endswith(
        ", the last of 2 starts"
    )
    assert machine["processor"].startswith(cpu_model()) and "GPUs" not in machine
    assert machine["Python, torch"] == f"{platform.python_version()}, {version('torch')}"
    assert found["report"] == "tokenizer: 300 pieces, fingerprint 1f2e"


def test_an_unfinished_run_gets_what_it_has_and_a_note(tmp_path: Path) -> None:
    found = data_of(run_page(AnalysedRun.read(unfinished_run(tmp_path / "run"))))
    assert "not finished" in found["notes"][0]
    assert found["panels"] and found["config"]
    assert (found["scores"], found["analyses"], found["selection"]) == ([], [], None)


def test_the_command_makes_the_page_of_a_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = finished_run(tmp_path / "run")
    main(["report", str(run.path)])
    assert capsys.readouterr().out == f"{run.report_file}\n"
    (found,) = data_of(run.report_file.read_text())["analyses"]
    assert found["test"] == "news" and len(found["sentences"]) == 3
    main(["report", str(run.path), "--output", str(tmp_path / "new" / "page.html")])
    assert (tmp_path / "new" / "page.html").read_text() == run.report_file.read_text()


def test_a_run_whose_name_is_not_utf_8_gets_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = finished_run(tmp_path / "caf\udce9")
    main(["report", str(run.path)])
    assert capsys.readouterr().out == f"{tmp_path}/caf\\udce9/report.html\n"
    assert run.report_file.is_file()


def test_a_run_without_references_gets_a_page_that_says_so(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    (run.path / "references/news.en").unlink()
    found = data_of(run_page(AnalysedRun.read(run)))
    assert "older runs did not keep their references" in found["notes"][0]
    assert found["scores"]


def test_an_analysis_of_other_translations_is_left_out_and_told(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    run.write_analysis("news", analysis().as_json())
    assert list(AnalysedRun.read(run).analyses) == ["news"]
    run.write_analysis("news", analysis(["Another.", *TRANSLATIONS[1:]]).as_json())
    found = data_of(run_page(AnalysedRun.read(run)))
    assert "analysis/news.json: is of other translations than the run has" in found["notes"][0]
    assert found["analyses"] == []


def test_a_page_of_many_sentences_has_the_worst_and_the_best(tmp_path: Path) -> None:
    base = analysis()
    sentences = [dataclasses.replace(base.sentences[0], number=n, chrf=float(n)) for n in range(1, 6001)]
    many = dataclasses.replace(base, sentences=sentences)
    (found,) = data_of(run_page(AnalysedRun(finished_run(tmp_path / "run"), {"news": many})))["analyses"]
    assert [each["number"] for each in found["sentences"]] == [*range(1, 4001), *range(5001, 6001)]
    assert found["notes"][-1] == "Of 6,000 sentences, this page has the 4,000 worst and the 1,000 best."


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(tmp_path)])
    assert "is not the directory of a run" in capsys.readouterr().err
