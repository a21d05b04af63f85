"""The page of a classifier."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import main
from seq2seq.reports.page_of_run import page_of_run
from tests.labelling import MARKS
from tests.reports.browsing import chromium, open_page, requests
from tests.reports.test_run_page import data_of


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_the_page_has_the_scores_and_the_confusion_matrix(classified_run: Path) -> None:
    run = RunDirectory(classified_run)
    assert run.report_file.read_text() == page_of_run(run)
    data = data_of(page_of_run(run))
    (test,) = data["tests"]
    assert test["labels"] == sorted(MARKS)
    assert sum(map(sum, test["confusion"])) == 31
    n_right = sum(test["confusion"][i][i] for i in range(3))
    assert test["scores"]["accuracy"][0] == pytest.approx(n_right / 31, abs=1e-4)
    assert test["n_mistakes"] == len(test["mistakes"]) == 31 - n_right
    assert data["panels"][0]["unit"] == "cross-entropy, nats per sentence"
    assert data["panels"][1]["series"][0]["label"] == "macro F1"
    assert data["facts"][0][0] == "accuracy on test"


def test_an_unfinished_run_has_a_page(classified_run: Path, tmp_path: Path, capsys) -> None:
    for name in ("config.yaml", "metrics.csv", "provenance.json"):
        shutil.copy(classified_run / name, tmp_path / name)
    main(["report", str(tmp_path)])
    assert data_of((tmp_path / "report.html").read_text())["notes"] == [
        "This run is not finished, so it has no scores yet."
    ]


def test_it_draws_all_of_its_sections(browser: Any, classified_run: Path) -> None:
    file = RunDirectory(classified_run).report_file
    open_page(browser, file)
    heads = [each.text for each in browser.find_elements("css selector", "h2")]
    assert heads[:3] == ["Scores", "Which label was taken for which", "How it learned"]
    assert "Configuration" in heads
    cells = browser.find_elements("css selector", ".heat rect")
    assert len(cells) == len(MARKS) ** 2
    assert browser.find_elements("css selector", "figure svg")
    assert browser.get_log("browser") == []
    assert requests(browser, file) == [file.as_uri()]


@pytest.mark.parametrize("words", [["compare"], ["report"]])
def test_comparisons_of_translations_refuse_it(classified_run: Path, tmp_path: Path, capsys, words) -> None:
    other = shutil.copytree(classified_run, tmp_path / "other")
    with pytest.raises(SystemExit) as ended:
        main([*words, str(classified_run), str(other)])
    assert ended.value.code == 2
    assert "is the run of a classifier, and" in capsys.readouterr().err
