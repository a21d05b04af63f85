"""What a page about the difference of runs holds, and which runs it refuses."""

import dataclasses
from pathlib import Path

import pytest

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.cli import main
from seq2seq.errors import RunError
from seq2seq.evaluation.over_seeds import recipe_tests
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.diff_page import diff_page
from tests.reports.reported import REFERENCES, TRANSLATIONS, analysis, finished_run, unfinished_run
from tests.reports.test_run_page import data_of

OTHER = ["A dog is running.", "Two kids play.", TRANSLATIONS[2]]


@pytest.fixture
def a(tmp_path: Path) -> AnalysedRun:
    return AnalysedRun(finished_run(tmp_path / "a"), {"news": analysis()})


@pytest.fixture
def b(tmp_path: Path) -> AnalysedRun:
    return AnalysedRun(
        finished_run(tmp_path / "b", OTHER, name="other"), {"news": analysis(OTHER, [100.0, 30.0, 71.25])}
    )


def test_scores_are_those_of_the_paired_test(a: AnalysedRun, b: AnalysedRun) -> None:
    (pair,) = data_of(diff_page([a, b]))["pairs"]
    (test,) = pair["tests"]
    expected = recipe_tests([[TRANSLATIONS], [OTHER]], REFERENCES, ["bleu", "chrf"])
    assert [metric["name"] for metric in test["metrics"]] == ["bleu", "chrf"]
    for metric in test["metrics"]:
        first, other = expected[metric["name"]]
        assert (metric["a"]["score"], metric["b"]["score"]) == (first.together.score, other.together.score)
        assert metric["difference"] == other.together.score - first.together.score
        assert metric["p_value"] == other.p_value
        assert metric["verdict"] == "may be chance"


def test_equal_translations_have_no_p_value(a: AnalysedRun, tmp_path: Path) -> None:
    same = AnalysedRun(finished_run(tmp_path / "same"), a.analyses)
    metric = data_of(diff_page([a, same]))["pairs"][0]["tests"][0]["metrics"][0]
    assert (metric["verdict"], metric["p_value"], metric["difference"]) == ("equal", None, 0)


def test_a_lower_ter_is_better() -> None:
    from seq2seq.reports.compared_run import Measured
    from seq2seq.reports.diff_page import _metric

    def said(metric: str, p_holm: float) -> str:
        low = Measured(20.0, difference=-10.0, p_holm=p_holm, is_tested=True)
        return str(_metric(metric, Measured(30.0), low)["verdict"])

    assert said("ter", 0.01) == "B is better"
    assert said("bleu", 0.01) == "A is better"
    assert said("bleu", 0.05) == "may be chance"


def test_sentences_have_both_translations_and_what_is_known_of_them(a: AnalysedRun, b: AnalysedRun) -> None:
    sentence = data_of(diff_page([a, b]))["pairs"][0]["tests"][0]["sentences"][0]
    assert sentence["texts"] == [TRANSLATIONS[0], OTHER[0]]
    assert (sentence["chrf"], sentence["references"]) == ([40.5, 100.0], [REFERENCES[0]])
    assert (sentence["domain"], sentence["is_in_train"], sentence["rarest_count"]) == ("web", False, 5)


def test_settings_that_differ_are_named_and_places_are_not(a: AnalysedRun, b: AnalysedRun) -> None:
    config = b.run.config()
    config.run_dir, config.data.dir = "elsewhere", "there"
    b.run.write_config(config)
    assert data_of(diff_page([a, b]))["pairs"][0]["config"] == [
        {"key": "corpus", "a": "bundled:sample", "b": "there"},  # an older run knows only where its text was
        {"key": "name", "a": "demo", "b": "other"},
    ]


def test_other_training_text_is_pointed_out(a: AnalysedRun, b: AnalysedRun) -> None:
    assert data_of(diff_page([a, b]))["pairs"][0]["notes"] == []
    for each, digest in ((a, "1"), (b, "2")):
        each.run.write_identity(RunIdentity("id", corpus={"train": [digest]}))
    assert "trained on other text" in data_of(diff_page([a, b]))["pairs"][0]["notes"][0]


def test_each_further_run_is_compared_with_the_first(a: AnalysedRun, b: AnalysedRun, tmp_path: Path) -> None:
    c = AnalysedRun(finished_run(tmp_path / "further" / "b"), a.analyses)
    found = data_of(diff_page([a, b, c]))
    assert found["heading"] == "a against 2 runs"
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [
        (str(a.run.path), str(b.run.path)),
        (str(a.run.path), str(c.run.path)),
    ]
    assert [pair["b_name"] for pair in found["pairs"]] == [f"{tmp_path.name}/b", "further/b"]


def test_runs_that_cannot_be_compared_are_refused(a: AnalysedRun, b: AnalysedRun, tmp_path: Path) -> None:
    def refused(other: AnalysedRun) -> str:
        with pytest.raises(RunError) as error:
            diff_page([a, other])
        return str(error.value)

    assert "is not finished" in refused(AnalysedRun.read(unfinished_run(tmp_path / "unfinished")))
    assert refused(dataclasses.replace(b, problems=["news is damaged"])) == "news is damaged"
    (b.run.path / "references/news.en").write_text("".join(f"{line}\n" for line in reversed(REFERENCES)))
    assert "were tested on different sentences called news: reference 1" in refused(b)


def test_the_command_writes_a_diff_of_two_runs(
    a: AnalysedRun, b: AnalysedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["report", str(a.run.path), str(b.run.path)])
    assert capsys.readouterr().out == "diff.html\n"
    (pair,) = data_of((tmp_path / "diff.html").read_text())["pairs"]
    assert len(pair["tests"][0]["sentences"]) == 3
    with pytest.raises(SystemExit):
        main(["report", str(a.run.path), str(b.run.path), "--pictures", "pictures"])
    assert "--pictures draws the charts of one run, and 2 are named; name one" in capsys.readouterr().err


def test_seeds_are_tested_as_one_and_not_against_each_other(tmp_path: Path) -> None:
    texts, runs = {1: TRANSLATIONS, 2: OTHER, 3: REFERENCES}, []
    for seed, translations in texts.items():
        run = finished_run(tmp_path / f"seed{seed}", translations)
        config = dataclasses.replace(run.config(), seed=seed)
        config.optim.lr *= 2 if seed == 3 else 1
        run.write_config(config)
        runs.append(AnalysedRun(run, {"news": analysis(translations)}))
    seeds, recipes = data_of(diff_page(runs))["pairs"]
    assert {metric["verdict"] for metric in seeds["tests"][0]["metrics"]} == {"not tested"}
    assert seeds["notes"] == ["Both are seeds of one recipe, so nothing is tested."]
    assert [each["key"] for each in recipes["config"]] == ["seed", "optim.lr"]
    bleu = recipes["tests"][0]["metrics"][0]
    first, expected = recipe_tests([[TRANSLATIONS, OTHER], [REFERENCES]], REFERENCES, ["bleu"])["bleu"]
    assert (bleu["difference"], bleu["p_value"]) == (expected.together.score - first.together.score, expected.p_value)
    assert recipes["notes"] == ["Scores of A are means of 2 seeds of it."]
