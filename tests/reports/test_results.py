import dataclasses
import json
import re
import statistics
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import main as cli
from seq2seq.config import DataConfig, ModelConfig, OptimConfig, RunConfig, TrainerConfig


def main(arguments: list[str]) -> None:
    cli(["results", *arguments])


def score(value: float) -> dict[str, object]:
    return {"score": value, "mean": value, "half_width": 1.0, "signature": "nrefs:1"}


def finished_run(path: Path, bleu: float, config: RunConfig, valid: float = 50.0, text: str = "") -> str:
    """What the end of a run leaves behind and this command reads; without `text`, as older runs left it."""
    path.mkdir()
    config = dataclasses.replace(config, run_dir=str(path), trainer=TrainerConfig(max_epochs=1))
    OmegaConf.save(OmegaConf.create(dataclasses.asdict(config)), path / "config.yaml")
    scores = {"flickr": {"bleu": score(bleu), "ter": score(100 - bleu)}}
    (path / "scores.json").write_text(json.dumps(scores))
    selection = {"selected": "last", "valid": {"last": {"bleu": valid}, "best": {"bleu": 1.0}}}
    (path / "selection.json").write_text(json.dumps(selection))
    if text:
        RunDirectory(path).write_identity(RunIdentity("1", corpus={"train": [text], "valid": ["v"]}))
    return str(path)


def rows(output: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in output.splitlines()]


def test_seeds_of_a_configuration_are_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bleu = [52.0, 53.5, 54.0]
    runs = [
        finished_run(tmp_path / f"run{seed}", reached, RunConfig(seed=seed, name="small"), valid=reached + 1)
        for seed, reached in enumerate(bleu, start=1)
    ]
    main(runs)
    mean, deviation = statistics.mean(bleu), statistics.stdev(bleu)
    assert rows(capsys.readouterr().out) == [
        ["run", "seeds", "valid bleu", "flickr bleu"],
        ["---"] * 4,
        ["small", "1, 2, 3", f"{mean + 1:.2f} ± {deviation:.2f}", f"{mean:.2f} ± {deviation:.2f}"],
    ]


def test_rows_are_told_apart_by_the_keys_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = RunConfig(name="deep", model=ModelConfig(n_encoder_layers=6), optim=OptimConfig(r_drop=5.0))
    main([finished_run(tmp_path / "a", 52.0, RunConfig()), finished_run(tmp_path / "b", 53.0, deep)])
    assert rows(capsys.readouterr().out)[2:] == [
        ["default model.n_encoder_layers=3 optim.r_drop=0.0", "1", "50.00", "52.00"],
        ["deep model.n_encoder_layers=6 optim.r_drop=5.0", "1", "50.00", "53.00"],
    ]


def test_other_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([finished_run(tmp_path / "a", 52.0, RunConfig()), "--metrics", "ter", "bleu"])
    assert rows(capsys.readouterr().out) == [
        ["run", "seeds", "valid bleu", "flickr ter", "flickr bleu"],
        ["---"] * 5,
        ["default", "1", "50.00", "48.00", "52.00"],
    ]


def test_a_run_from_before_a_key_has_its_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [finished_run(tmp_path / name, 52.0, RunConfig(seed=seed)) for seed, name in enumerate("ab")]
    config = OmegaConf.load(tmp_path / "a" / "config.yaml")
    del config.optim["r_drop"]
    OmegaConf.save(config, tmp_path / "a" / "config.yaml")
    main(runs)
    assert [row[:2] for row in rows(capsys.readouterr().out)[2:]] == [["default", "0, 1"]]


@pytest.mark.parametrize("missing", ["config.yaml", "selection.json", "scores.json"])
def test_an_unfinished_run_is_one_sentence(missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = finished_run(tmp_path / "run", 52.0, RunConfig())
    (tmp_path / "run" / missing).unlink()
    with pytest.raises(SystemExit, match="2"):
        main([run])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert re.search("is not the directory of a (finished )?run", captured.err)


def test_an_unknown_metric_names_those_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = finished_run(tmp_path / "run", 52.0, RunConfig())
    with pytest.raises(SystemExit, match="2"):
        main([run, "--metrics", "bleu", "comet"])
    assert "has no comet of flickr; choose from bleu, ter" in capsys.readouterr().err


def test_a_test_set_without_a_metric_has_no_column_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Path(finished_run(tmp_path / "run", 52.0, RunConfig()))
    scores = json.loads((run / "scores.json").read_text())
    scores["flickr/typos"] = {"bleu": score(44.0)}
    (run / "scores.json").write_text(json.dumps(scores))
    main([str(run), "--metrics", "bleu", "ter"])
    assert rows(capsys.readouterr().out)[0] == [
        "run", "seeds", "valid bleu", "flickr bleu", "flickr ter", "flickr/typos bleu",
    ]  # fmt: skip


def test_runs_with_and_without_robustness_are_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robust = RunConfig(seed=2, data=DataConfig(robustness=True))
    main([finished_run(tmp_path / "a", 52.0, RunConfig()), finished_run(tmp_path / "b", 54.0, robust)])
    assert len(rows(capsys.readouterr().out)) == 3


def test_runs_on_other_text_are_not_seeds_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The directory has the same name, or another one: what counts is what it holds."""
    places = [("a", "x", 20.0), ("b", "y", 60.0), ("b", "x", 22.0)]
    runs = [
        finished_run(tmp_path / f"run{seed}", bleu, RunConfig(seed=seed, data=DataConfig(dir=place)), text=text)
        for seed, (place, text, bleu) in enumerate(places, start=1)
    ]
    main(runs)
    on_x, on_y = rows(capsys.readouterr().out)[2:]
    assert re.fullmatch("default corpus=[0-9a-f]{8}", on_x[0]) and re.fullmatch("default corpus=[0-9a-f]{8}", on_y[0])
    assert on_x[1:] == ["1, 3", "50.00 ± 0.00", "21.00 ± 1.41"]
    assert on_y[1:] == ["2", "50.00", "60.00"]


def test_older_runs_go_by_where_their_text_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        finished_run(tmp_path / f"run{seed}", 20.0 * seed, RunConfig(seed=seed, data=DataConfig(dir=place)))
        for seed, place in enumerate(("here", "there", "here"), start=1)
    ]
    main(runs)
    assert [row[:2] for row in rows(capsys.readouterr().out)[2:]] == [
        ["default corpus=here", "1, 3"],
        ["default corpus=there", "2"],
    ]


def test_a_seed_that_comes_twice_is_not_two_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reached = [(1, 20.0), (1, 60.0), (2, 22.0)]
    runs = [
        finished_run(tmp_path / f"run{number}", bleu, RunConfig(seed=seed), text="x")
        for number, (seed, bleu) in enumerate(reached)
    ]
    main(runs)
    assert rows(capsys.readouterr().out)[2:] == [
        ["default", "1, 2", "50.00 ± 0.00", "21.00 ± 1.41"],
        ["default", "1 (again)", "50.00", "60.00"],
    ]


def test_test_sets_of_other_names_are_rows_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = RunConfig(data=DataConfig(test={"flickr": "test2016"}))
    other = RunConfig(seed=2, data=DataConfig(test={"flickr": "test2017"}))
    main([finished_run(tmp_path / "a", 52.0, one), finished_run(tmp_path / "b", 54.0, other)])
    assert [row[0] for row in rows(capsys.readouterr().out)[2:]] == [
        "default data.test.flickr=test2016",
        "default data.test.flickr=test2017",
    ]
