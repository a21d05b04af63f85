"""What a search space may say, and what is told about one that says something else."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import seq2seq
from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir
from seq2seq.sweeps.space import find_space, read_space, word

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
    assert read_space(asdict(space), "") == space
    assert space.minimizes and not read_space({"space": SPACE}, "").minimizes


@pytest.mark.parametrize(
    "value", [0.1 + 0.2, 1e-7, 3, True, False, None, "post", "it's [a], b=c", "a/b.txt", "", "true", "1e-3", "null"]
)
def test_hydra_reads_the_value_of_a_word(value: Any) -> None:
    parsed = OverridesParser.create().parse_override(word("model.norm", value)).value()
    text = getattr(parsed, "text", parsed)  # of a text in quotes
    assert (type(text), text) == (type(value), pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize("file", sorted((conf_dir() / "search").glob("*.yaml")), ids=lambda file: file.stem)
def test_the_spaces_that_ship_can_be_searched(file: Path) -> None:
    space = find_space(str(file))
    for pick in (min, max):
        words = [word(key, pick(_ends(axis))) for key, axis in space.distributions().items()]
        assert seq2seq.config([*space.words, *words, f"trainer.monitor={space.metric}"]).trainer.monitor == space.metric


def _ends(axis: Any) -> Any:
    return axis.choices if isinstance(axis, CategoricalDistribution) else (axis.low, axis.high)


@pytest.mark.parametrize(
    ("axis", "told"),
    [
        ({"optim.ler": {"low": 1, "high": 2}}, "optim.ler: there is no configuration key 'optim.ler'; did you"),
        ({"logger.wandb": {"choices": [True]}}, "logger.wandb: cannot be searched, since it decides nothing that is"),
        ({"trainer.monitor": {"choices": ["valid/bleu"]}}, "trainer.monitor: cannot be searched"),
        ({"optim.lr": 3}, "space.optim.lr: Value 3 (int) is incompatible with type"),
        ({"optim.lr": {"min": 1, "max": 3}}, "optim.lr: needs numbers low and high, perhaps with step or log; or a"),
        ({"optim.lr": {"low": "a", "high": 2}}, "optim.lr: needs numbers low and high"),
        ({"optim.lr": {"low": 2, "high": 1}}, "optim.lr: `low <= high` must hold"),
        ({"model.norm": {"low": 1, "high": 3}}, "model.norm: is not a number, so it needs {choices: [...]}"),
        ({"model": {"low": 1, "high": 3}}, "model: is not a number, so it needs {choices: [...]}"),
        ({"seed": {"choices": [1], "low": 2}}, "seed: needs numbers low and high"),
        ({"seed": {"choices": 3}}, "seed: needs numbers low and high"),
    ],
)  # fmt: skip
def test_an_axis_that_cannot_be_searched_is_told(axis: dict, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_space({"space": {"model.dropout": {"low": 0, "high": 1}, **axis}}, "space.yaml")
    assert str(caught.value).startswith(f"space.yaml: {told}") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "the file: "),
        ({"space": {}}, "has no keys; write space: and below it keys with values, as optim.lr:"),
        ({"space": SPACE, "trails": 3}, "trails: Key 'trails' not in 'Space'; see the top of seq2seq/sweeps/space.py"),
        ({"space": SPACE, "trials": 0}, "trials=0 is below 1"),
        ({"space": SPACE, "prune_from": -1}, "prune_from=-1 is below 0"),
        ({"space": SPACE, "seed": "x"}, "seed: Value 'x' of type 'str' could not be converted to Integer; see"),
        ({"space": SPACE, "words": "seed=3"}, "words: Invalid value assigned"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_search_space_is_told(content: Any, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_space(content, "space.yaml")
    assert str(caught.value).startswith(f"space.yaml: {told}") and "\n" not in str(caught.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_space({"space": {"seed": {}, "optim.lr": {"low": 1}}, "trials": 0}, "s")
    assert len(str(caught.value).splitlines()) == 3


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text("space: {")
    with pytest.raises(ConfigError, match=r"space\.yaml: cannot be read as YAML \(.*\)"):
        find_space(str(tmp_path / "space.yaml"))
    with pytest.raises(ConfigError, match=r"cannot be read as YAML \(.*Is a directory"):
        find_space(str(tmp_path))


def test_yaml_has_numbers_as_people_write_them(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text("space:\n  optim.lr: {low: 1e-4, high: 1E-2}\n")
    assert find_space(str(tmp_path / "space.yaml")).distributions() == {"optim.lr": FloatDistribution(1e-4, 1e-2)}
