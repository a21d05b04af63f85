"""What a search space may say, and what is told about one that says something else."""

from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import seq2seq
from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir
from seq2seq.sweeps.space import read_space, read_space_file, word

SPACE = {
    "optim.lr": {"low": 1e-4, "high": 1e-2, "log": True},
    "model.dropout": {"low": 0, "high": 0.4, "step": 0.1},
    "optim.warmup_steps": {"low": 10, "high": 1000, "log": True},
    "batch.accumulate": {"low": 1, "high": 9, "step": 4},
    "model.norm": {"choices": ["pre", "post"]},
    "model": {"choices": ["tiny", "small"]},
    "data.drop_duplicates": {"choices": [False, True]},
}


def test_a_space_is_one_of_optuna() -> None:
    assert read_space({"space": SPACE}, "").distributions() == {
        "optim.lr": FloatDistribution(1e-4, 1e-2, log=True),
        "model.dropout": FloatDistribution(0, 0.4, step=0.1),
        "optim.warmup_steps": IntDistribution(10, 1000, log=True),
        "batch.accumulate": IntDistribution(1, 9, step=4),
        "model.norm": CategoricalDistribution(("pre", "post")),
        "model": CategoricalDistribution(("tiny", "small")),
        "data.drop_duplicates": CategoricalDistribution((False, True)),
    }


def test_a_space_that_was_written_down_is_the_same() -> None:
    space = read_space({"space": SPACE, "words": ["seed=3"], "metric": "valid/loss", "trials": 7}, "")
    assert read_space(space.as_json(), "") == space
    assert space.minimizes and not read_space({"space": SPACE}, "").minimizes


@pytest.mark.parametrize(
    "value", [0.1 + 0.2, 1e-7, 3, True, False, None, "post", "it's [a], b=c", "a/b.txt", "", "true", "1e-3", "null"]
)
def test_hydra_reads_the_value_of_a_word(value: Any) -> None:
    parsed = OverridesParser.create().parse_override(word("model.norm", value)).value()
    text = getattr(parsed, "text", parsed)  # of a text in quotes
    assert (type(text), text) == (type(value), pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize("file", sorted((conf_dir() / "search").glob("*.yaml")), ids=lambda file: file.stem)
def test_the_spaces_that_ship_can_be_searched(file: Path, tmp_path: Path) -> None:
    space = read_space_file(file)
    for pick in (min, max):
        words = [word(key, pick(_ends(axis))) for key, axis in space.distributions().items()]
        assert seq2seq.config([*space.words, *words, f"trainer.monitor={space.metric}"]).trainer.monitor == space.metric


def _ends(axis: Any) -> Any:
    return axis.choices if isinstance(axis, CategoricalDistribution) else (axis.low, axis.high)


@pytest.mark.parametrize(
    ("axis", "told"),
    [
        ({"optim.ler": {"low": 1, "high": 2}}, "optim.ler: there is no configuration key 'optim.ler'; did you"),
        ({3: {"low": 1, "high": 2}}, "3: there is no configuration key '3'"),
        ({"logger.wandb": {"choices": [True]}}, "logger.wandb: cannot be searched, since it decides nothing that is"),
        ({"trainer.monitor": {"choices": ["valid/bleu"]}}, "trainer.monitor: cannot be searched"),
        ({"optim.lr": 3}, "optim.lr: 3 is neither {low: ..., high: ...}, with step or log: true, nor {choices: [...]}"),
        ({"optim.lr": {"min": 1, "max": 3}}, "optim.lr: {'min': 1, 'max': 3} is neither {low: ..., high: ...}, with"),
        ({"optim.lr": {"low": 1}}, "optim.lr: low, high and step must be numbers"),
        ({"optim.lr": {"low": "a", "high": 2}}, "optim.lr: low, high and step must be numbers"),
        ({"optim.lr": {"low": True, "high": 2}}, "optim.lr: low, high and step must be numbers"),
        ({"optim.lr": {"low": 1, "high": 2, "log": "yes"}}, "optim.lr: log='yes' is neither true nor false"),
        ({"optim.lr": {"low": 2, "high": 1}}, "optim.lr: low=2 is not below high=1"),
        ({"optim.lr": {"low": 0, "high": float("inf")}}, "optim.lr: low=0 is not below high=inf"),
        ({"optim.lr": {"low": 0, "high": 1, "log": True}}, "optim.lr: low=0 has no logarithm; give a number above 0"),
        ({"optim.lr": {"low": 1, "high": 2, "log": True, "step": 1}}, "optim.lr: log and step cannot be combined"),
        ({"optim.lr": {"low": 1, "high": 2, "step": 3}}, "optim.lr: step=3 does not lead from low to high"),
        ({"seed": {"low": 1.5, "high": 3}}, "seed: the key takes whole numbers only"),
        ({"model.norm": {"low": 1, "high": 3}}, "model.norm: is not a number, so it needs {choices: [...]}"),
        ({"model": {"low": 1, "high": 3}}, "model: is not a number, so it needs {choices: [...]}"),
        ({"seed": {"choices": [1], "low": 2}}, "seed: choices cannot be combined with low, high, step or log"),
        ({"seed": {"choices": []}}, "seed: choices is not a list of different values"),
        ({"seed": {"choices": [1, 1]}}, "seed: choices is not a list of different values"),
        ({"seed": {"choices": 3}}, "seed: choices is not a list of different values"),
        ({"seed": {"choices": [[1], 2]}}, "seed: [1] is not one text or number, as each choice must be"),
        ({"seed": {"choices": ["many"]}}, "seed: Value 'many' of type 'str' could not be converted to Integer"),
        ({"model": {"choices": [1]}}, "model: 1 is not the name of a preset"),
    ],
)  # fmt: skip
def test_an_axis_that_cannot_be_searched_is_told(axis: dict, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_space({"space": {"model.dropout": {"low": 0, "high": 1}, **axis}}, "space.yaml")
    assert str(caught.value).startswith(f"space.yaml: {told}") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "has no search space; write space: and below it keys with values, as optim.lr: {low: 1e-4, high: 1e-2}"),
        ({"space": {}}, "has no search space"),
        ({"space": SPACE, "trails": 3}, "there is no 'trails' in a search space; it takes space, words, metric,"),
        ({"space": SPACE, "trials": 0}, "trials=0 is not a count, such as 20"),
        ({"space": SPACE, "prune_from": -1}, "prune_from=-1 is not a count, such as 2"),
        ({"space": SPACE, "seed": "x"}, "seed='x' is not a count, such as 1"),
        ({"space": SPACE, "metric": 3}, "metric=3 is not the name of a metric, such as valid/bleu"),
        ({"space": SPACE, "words": "seed=3"}, "words is not a list of words of train.py, such as ["),
    ],
)  # fmt: skip
def test_a_file_that_is_no_search_space_is_told(content: Any, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_space(content, "space.yaml")
    assert str(caught.value).startswith(f"space.yaml: {told}") and "\n" not in str(caught.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_space({"space": {"seed": 3, "optim.lr": 4}, "trials": 0}, "s")
    assert len(str(caught.value).splitlines()) == 3


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text("space: {")
    with pytest.raises(ConfigError, match=r"space\.yaml: is not YAML \(.*\)"):
        read_space_file(tmp_path / "space.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        read_space_file(tmp_path)


def test_yaml_has_numbers_as_people_write_them(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text("space:\n  optim.lr: {low: 1e-4, high: 1E-2}\n")
    assert read_space_file(tmp_path / "space.yaml").distributions() == {"optim.lr": FloatDistribution(1e-4, 1e-2)}
