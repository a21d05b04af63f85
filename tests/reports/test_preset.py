"""Which keys of a configuration differ from those of its recipe."""

import dataclasses

from seq2seq.config import RunConfig
from seq2seq.reports.preset import preset, settings


def test_only_what_differs_from_the_recipe_is_marked() -> None:
    recipe = preset("multi30k")
    mine = dataclasses.replace(recipe, seed=5, run_dir="runs/mine", optim=dataclasses.replace(recipe.optim, lr=0.5))
    name, found = settings(mine)
    assert name == "experiment=multi30k"
    assert [each for each in found if each["is_changed"]] == [
        {"key": "seed", "value": "5", "preset": "1", "is_changed": True},
        {"key": "optim.lr", "value": "0.5", "preset": "0.01", "is_changed": True},
    ]
    assert next(each["value"] for each in found if each["key"] == "run_dir") == "runs/mine"


def test_a_name_of_ones_own_is_compared_with_the_defaults() -> None:
    name, found = settings(RunConfig(name="mine"))
    assert name == "the defaults of conf/train.yaml"
    assert [each["value"] for each in found if each["is_changed"] and each["key"] == "name"] == ["mine"]
