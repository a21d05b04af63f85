"""What people and programs see of a comparison."""

import csv
import dataclasses
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import main as cli
from seq2seq.config import OptimConfig, RunConfig
from seq2seq.evaluation.over_seeds import recipe_tests
from seq2seq.evaluation.scores import report
from tests.reports.full_runs import REFERENCES, ended_run, interval, logged, started_run

GOOD = ["A man stands on a ladder.", "Two dogs run in snow.", "People repair a roof of a home."]
POOR = ["A man is on a thing.", "Dogs run in the snow.", "People repair."]


def translated(path: Path, hypotheses: list[str]) -> Path:
    """Give a run that has ended the translations and scores of a test set, plain and with augmentation."""
    run, tests = RunDirectory(path), {}
    for name, metrics in (("news", ("bleu", "ter")), ("news/typos", ("bleu",))):
        run.write_test(name, "en", hypotheses, [[reference] for reference in REFERENCES])
        tests[name] = report(hypotheses, REFERENCES, metrics)
    run.write_scores(tests)
    return path


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of a recipe and one of another one."""
    sweep = tmp_path_factory.mktemp("runs") / "sweep"
    rates = [(1, 0.5), (2, 0.5), (1, 0.25)]
    paths = [
        ended_run(sweep / f"00{number}", 0, RunConfig(seed=seed, optim=OptimConfig(lr=rate)), 50.0 + number)
        for number, (seed, rate) in enumerate(rates)
    ]
    for path, hypotheses in zip(paths, (GOOD, REFERENCES, POOR), strict=True):
        translated(path, hypotheses)
        losses = (10, "train/loss", 5.0, 1000.0), (70, "train/loss", 4.0, 2800.0)
        logged(path, *losses, (70, "test/news/bleu", 9, 2800.0))
    return sweep


@pytest.fixture
def runs(finished_sweep: Path, tmp_path: Path) -> list[Path]:
    shutil.copytree(finished_sweep, tmp_path / "sweep")
    return sorted((tmp_path / "sweep").iterdir())


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    cli(["compare", *map(str, arguments)])
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed(capsys, *arguments, "--format", "json"))
    return found


def test_json_holds_all_of_it(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, *runs)
    assert (found["src_lang"], found["tgt_lang"], found["test_method"], found["notes"]) == ("fr", "en", "bs", [])
    assert {label: (run["path"], run["is_finished"], run["settings"]) for label, run in found["runs"].items()} == {
        label: (str(path), True, {"seed": seed, "optim.lr": rate})
        for label, path, seed, rate in zip("ABC", runs, (1, 2, 1), (0.5, 0.5, 0.25), strict=True)
    }
    assert found["runs"]["B"]["cost"] == {
        "n_parameters": 9000, "steps": 70, "tgt_tokens": 7000, "tgt_tokens_per_s": None, "hours": 0.5,
        "memory_gb": None, "device_memory_gb": None,
    }  # fmt: skip
    assert list(found["valid"]["bleu"]) == ["A, B", "A", "B", "C"]
    assert [each["score"] for each in found["valid"]["bleu"].values()] == [50.5, 50.0, 51.0, 52.0]
    assert [each["difference"] for each in found["valid"]["bleu"].values()] == [None, None, None, 1.5]
    kept = RunDirectory(runs[2]).scores()["news"]["ter"]
    assert found["tests"]["news"]["metrics"]["ter"]["C"]["score"] == pytest.approx(kept.score, abs=1e-4)
    assert found["tests"]["news/typos"] == {
        "n_sentences": 3,
        "metrics": {"bleu": found["tests"]["news"]["metrics"]["bleu"]},
    }
    assert [(recipe["label"], recipe["runs"]) for recipe in found["recipes"]] == [("A, B", ["A", "B"]), ("C", ["C"])]
    expected = recipe_tests([[GOOD, REFERENCES], [POOR]], REFERENCES, ["bleu"])["bleu"]
    bleu = found["tests"]["news"]["metrics"]["bleu"]
    assert (bleu["A, B"]["score"], bleu["A, B"]["half_width"]) == (
        expected[0].together.score, expected[0].together.half_width,
    )  # fmt: skip
    assert [bleu["C"][key] for key in ("difference", "difference_half_width", "p_value")] == [
        expected[1].together.score - expected[0].together.score, expected[1].half_width, expected[1].p_value,
    ]  # fmt: skip
    assert bleu["A"]["p_value"] is bleu["B"]["p_value"] is bleu["B"]["verdict"] is None  # seeds are not tested


def test_csv_has_a_line_for_each_run(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(capsys, *runs, "--format", "csv"))))
    found = as_json(capsys, *runs)
    assert [(row["run"], row["path"], row["recipe"]) for row in rows] == [
        ("A", str(runs[0]), "1"), ("B", str(runs[1]), "1"), ("C", str(runs[2]), "2"),
    ]  # fmt: skip
    assert [(row["seed"], row["optim.lr"], row["steps"]) for row in rows] == [
        ("1", "0.5", "70"), ("2", "0.5", "70"), ("1", "0.25", "70"),
    ]  # fmt: skip
    for row in rows:
        for test in ("news", "news/typos"):
            of_recipe, own = (
                found["tests"][test]["metrics"]["bleu"][label]
                for label in (["A, B", "C"][row["run"] == "C"], row["run"])
            )
            assert float(row[f"test/{test}/bleu"]) == own["score"]
            assert float(row[f"test/{test}/bleu/half_width"]) == own["half_width"]
            for detail in ("deviation", "difference", "difference_half_width", "p_value", "p_holm"):
                value = row[f"test/{test}/bleu/{detail}"]
                assert (float(value) if value else None) == of_recipe[detail]
    assert rows[0]["valid/bleu/half_width"] == "" and "test/news/typos/ter" not in rows[0]


def test_markdown_has_tables_of_one_width_each(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    parts = printed(capsys, *runs, "--format", "markdown").strip().split("\n\n")
    assert parts[0] == "\n".join(f"- {label}: `{path}`" for label, path in zip("ABC", runs, strict=True))
    titles = [part for part in parts if part.startswith("**")]
    assert titles == [
        "**what differs**", "**valid**", "**test set news, 3 sentences**", "**test set news with augmentation**",
        "**cost**",
    ]  # fmt: skip
    tables = [part.splitlines() for part in parts if part.startswith("|")]
    assert len(tables) == len(titles)
    for header, line, *rows in tables:
        n_columns = header.count("|") - 1
        assert line == "|" + " --- |" * n_columns and rows
        assert all(row.startswith("| ") and row.endswith(" |") and row.count("|") - 1 == n_columns for row in rows)
    assert "| ter | C | " in "\n".join(tables[2])


def test_text_fits_a_terminal(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [
        ended_run(tmp_path / f"more{number}", 20.0, RunConfig(seed=number, finetune="a_long_name" * 5))
        for number in range(8)
    ]
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        out = printed(capsys, *runs, *more, "--test-method", "none")
        tables = out.partition("\n\n")[2].rpartition("\n\n")[0]
        assert max(map(len, tables.splitlines())) <= width
        assert len(re.findall(r"^key ", out, re.MULTILINE)) == (5 if width == 80 else 3)
    assert "a_long_namea_long_namea_lon…" in out and "a_long_name" * 3 not in out


def test_a_sweep_stands_for_its_jobs(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    sweep = runs[0].parent
    (sweep / "multirun.yaml").touch()
    assert printed(capsys, sweep, "--test-method", "none") == printed(capsys, *runs, "--test-method", "none")
    found = as_json(capsys, runs[2], sweep, "--test-method", "none")["runs"]  # the first one is the one to compare with
    assert [run["path"] for run in found.values()] == [str(runs[2]), str(runs[0]), str(runs[1])]
    assert len(as_json(capsys, sweep, sweep, "--test-method", "none")["runs"]) == 3


def test_any_run_may_be_the_baseline(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, *runs, "--baseline", runs[2])
    assert [run["path"] for run in found["runs"].values()] == [str(runs[2]), str(runs[0]), str(runs[1])]
    assert [recipe["label"] for recipe in found["recipes"]] == ["A", "B, C"]
    assert found["tests"]["news"]["metrics"]["bleu"]["B, C"]["verdict"] is not None
    assert as_json(capsys, *runs[:2], "--baseline", runs[2]) == found


def test_values_of_a_key_are_compared_whatever_else_differs(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, *runs, "--by", "seed", "--metrics", "bleu")
    assert "\nA, C: seed=1, seeds 1, 1\nB: seed=2, seed 2\n" in out and re.search(
        r"^ +B +100\.00 .* better$", out, re.MULTILINE
    )
    with pytest.raises(SystemExit):
        printed(capsys, *runs, "--by", "optim.rate")
    assert "no run has a key optim.rate that could decide a score; name one" in capsys.readouterr().err


def test_several_seeds_need_the_bootstrap(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        printed(capsys, *runs, "--test-method", "ar")
    assert "--test-method ar compares single runs, and A, B are one recipe; take bs" in capsys.readouterr().err


def test_a_single_run_is_shown_with_what_it_has(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, runs[0])
    assert (
        "what differs" not in out
        and "against" not in out
        and "\nvalid\nmetric  run  score\nbleu    A     50.00\n" in out
    )
    assert list(as_json(capsys, runs[0])["tests"]) == ["news", "news/typos"]


def test_an_unfinished_run_is_shown_with_what_it_has(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    training = started_run(tmp_path / "training", RunConfig(seed=7))
    logged(
        training,
        (10, "train/loss", 5.0, 1000.0),
        (10, "valid/bleu", 12.5, 1000.0),
        (10, "valid/loss", 4.0, 1000.0),
        (30, "train/loss", 4.0, 4600.0),
        (30, "valid/bleu", 20.0, 4600.0),
        (30, "valid/news/bleu", 30.0, 4600.0),
    )
    begun = started_run(tmp_path / "begun")
    out = printed(capsys, runs[0], training, begun, runs[2])
    assert f"A  {runs[0]}\nB* {training}\nC* {begun}\nD  {runs[2]}\nfr to en; paired bootstrap" in out
    assert "1,000 resamples; * is not finished\n" in out
    assert "\nnote: B, C: not finished, so not tested; scores on valid are of the latest validation\n" in out
    assert re.search(r"^bleu +A +50\.00\n +B\* +20\.00\n +D +52\.00 +\+2\.00\n", out, re.MULTILINE)
    assert re.search(r"^parameters +9,000 +9,000$", out, re.MULTILINE)
    assert re.search(r"^steps +70 +30 +70$", out, re.MULTILINE) and re.search(
        r"^hours +0\.50 +1\.00 ", out, re.MULTILINE
    )
    found = as_json(capsys, runs[0], training, runs[2])
    assert [list(by_label) for by_label in found["tests"]["news"]["metrics"].values()] == [["A", "C"]] * 2
    assert found["runs"]["B"]["is_finished"] is False and list(found["valid"]) == ["bleu"]

    found = as_json(capsys, training, runs[0], runs[2])
    assert "nothing is tested against A, which has translated no test set; name a finished run first" in found["notes"]
    assert found["tests"]["news"]["metrics"]["bleu"]["B"]["p_value"] is None
    assert found["tests"]["news"]["metrics"]["bleu"]["B"]["half_width"] > 0
    assert as_json(capsys, begun)["tests"] == as_json(capsys, begun)["valid"] == {}


def test_intervals_on_valid_are_shown_where_they_were_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [ended_run(tmp_path / name, 20.0) for name in "ab"]
    selection = RunDirectory(runs[1]).selection()
    RunDirectory(runs[1]).write_selection(dataclasses.replace(selection, intervals={"bleu": interval(50.0)}))
    assert re.search(r"^bleu +A +50\.00\n +B +50\.00 ± 1\.50 +\+0\.00$", printed(capsys, *runs), re.MULTILINE)


def test_scores_on_other_validation_text_are_not_subtracted(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path, valid in zip(runs, ("v", "w", "v"), strict=True):
        RunDirectory(path).write_identity(RunIdentity("1", corpus={"train": ["t"], "valid": [valid]}))
    found = as_json(capsys, *runs, "--test-method", "none")
    assert [each["difference"] for each in found["valid"]["bleu"].values()] == [None, None, 2.0]
    assert found["notes"] == ["B: chose the weights on other validation text than A"]
