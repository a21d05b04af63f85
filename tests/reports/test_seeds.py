import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from seq2seq.cli import main as cli
from seq2seq.config import DataConfig, ModelConfig, OptimConfig, RunConfig, TrainerConfig
from seq2seq.config.on_resume import RUNTIME, classes, value_of
from tests.reports.full_runs import ended_run, started_run


def groups(capsys: pytest.CaptureFixture[str], *runs: Path) -> list[dict[str, Any]]:
    """Recipes, as `compare` puts them together."""
    cli(["compare", *map(str, runs), "--format", "json"])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["recipes"]
    return found


def labels(found: list[dict[str, Any]]) -> list[str]:
    return ["".join(group["runs"]) for group in found]


def test_seeds_of_a_configuration_are_one_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bleu = [52.0, 53.5, 54.0]
    runs = [
        ended_run(tmp_path / f"run{seed}", reached, RunConfig(seed=seed, name="small"), valid=reached + 1)
        for seed, reached in enumerate(bleu, start=1)
    ]
    mean, deviation = statistics.mean(bleu), statistics.stdev(bleu)
    cli(["compare", *map(str, runs), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["recipes"] == [{"label": "A, B, C", "runs": ["A", "B", "C"], "seeds": [1, 2, 3]}]
    flickr = found["tests"]["flickr"]["metrics"]
    for by_label, expected in ((found["valid"]["bleu"], mean + 1), (flickr["bleu"], mean), (flickr["ter"], 100 - mean)):
        assert list(by_label) == ["A, B, C", "A", "B", "C"]
        together = by_label["A, B, C"]
        assert (together["score"], together["deviation"]) == (pytest.approx(expected), pytest.approx(deviation))
        assert all(each["difference"] is each["verdict"] is None for each in by_label.values())
    cli(["compare", *map(str, runs)])
    head, _, table = capsys.readouterr().out.partition("\nvalid\n")
    assert "\nA, B, C: one recipe, seeds 1, 2, 3\n" in head
    assert [line.split() for line in table.splitlines()[:3]] == [
        ["metric", "run", "score", "std"],
        ["bleu", "A,", "B,", "C", f"{mean + 1:.2f}", f"{deviation:.2f}"],
        ["A", "53.00"],
    ]


def test_recipes_are_told_apart_by_the_keys_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = RunConfig(name="deep", model=ModelConfig(n_encoder_layers=6), optim=OptimConfig(eps=1e-8))
    runs = [ended_run(tmp_path / "a", 52.0), ended_run(tmp_path / "b", 53.0, deep)]
    assert labels(groups(capsys, *runs)) == ["A", "B"]
    cli(["compare", *map(str, runs)])
    out = capsys.readouterr().out
    assert "one recipe" not in out
    rows = out.partition("what differs\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split() for line in rows] == [
        ["key", "A", "B"],
        ["model.n_encoder_layers", "3", "6"],
        ["optim.eps", "1e-09", "1e-08"],
        ["name", "default", "deep"],  # decides no score, so it comes last
    ]


def test_a_run_from_before_a_key_has_its_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [ended_run(tmp_path / name, 52.0, RunConfig(seed=seed)) for seed, name in enumerate("ab")]
    config = OmegaConf.load(tmp_path / "a" / "config.yaml")
    del config.optim["eps"]
    OmegaConf.save(config, tmp_path / "a" / "config.yaml")
    assert labels(groups(capsys, *runs)) == ["AB"]
    config.optim["of_another_version"] = 1
    OmegaConf.save(config, tmp_path / "a" / "config.yaml")
    assert labels(groups(capsys, *runs)) == ["A", "B"]


def test_a_run_that_is_not_finished_is_no_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [ended_run(tmp_path / f"run{seed}", 52.0, RunConfig(seed=seed)) for seed in (1, 2)]
    assert labels(groups(capsys, *runs, started_run(tmp_path / "run3", RunConfig(seed=3)))) == ["AB", "C"]


def test_keys_without_influence_on_the_scores_tell_no_recipes_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = RunConfig(seed=2)
    for key, mark in classes(RunConfig).items():
        section, _, name = key.rpartition(".")
        holder, value = value_of(other, section) if section else other, value_of(other, key)
        if mark == RUNTIME and not isinstance(value, list):
            setattr(holder, name, not value if isinstance(value, bool) else value * 2 or type(value)(1))
    runs = [ended_run(tmp_path / name, 52.0, each, text="x") for name, each in (("a", RunConfig()), ("b", other))]
    assert labels(groups(capsys, *runs)) == ["AB"]


def in_places(*places: str) -> list[RunConfig]:
    return [RunConfig(seed=seed, data=DataConfig(dir=place)) for seed, place in enumerate(places, start=1)]


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ([RunConfig(), RunConfig(seed=2, finetune="x"), RunConfig(seed=3, trainer=TrainerConfig(devices=2))], "A B C"),
        (in_places("here", "there", "here"), "AC B"),  # older runs know where their text was, and not what it is
        ([RunConfig(seed=seed) for seed in (1, 1, 2)], "AC B"),  # a seed that comes twice is not two samples
    ],
)
def test_what_a_new_run_depends_on_tells_recipes_apart(
    configs: list[RunConfig], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [ended_run(tmp_path / f"run{number}", 52.0, config) for number, config in enumerate(configs)]
    assert labels(groups(capsys, *runs)) == expected.split()


def test_runs_on_other_text_are_not_seeds_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The directory has the same name, or another one: what counts is what it holds."""
    places = [("a", "x", 20.0), ("b", "y", 60.0), ("b", "x", 22.0)]
    runs = [
        ended_run(tmp_path / f"run{seed}", bleu, RunConfig(seed=seed, data=DataConfig(dir=place)), text=text)
        for seed, (place, text, bleu) in enumerate(places, start=1)
    ]
    assert labels(groups(capsys, *runs)) == ["AC", "B"]
    cli(["compare", *map(str, runs)])
    out = capsys.readouterr().out
    assert re.search(r"^corpus +([0-9a-f]{8}) +(?!\1)[0-9a-f]{8} +\1$", out, re.MULTILINE) and "data.dir" not in out


def test_test_sets_of_other_names_are_recipes_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = RunConfig(data=DataConfig(test={"flickr": "test2016"}))
    other = RunConfig(seed=2, data=DataConfig(test={"flickr": "test2017"}))
    runs = [ended_run(tmp_path / "a", 52.0, one), ended_run(tmp_path / "b", 54.0, other)]
    assert labels(groups(capsys, *runs)) == ["A", "B"]
    cli(["compare", *map(str, runs)])
    assert re.search(r"^data\.test\.flickr +test2016 +test2017$", capsys.readouterr().out, re.MULTILINE)
