"""Which keys of a configuration differ from those of its recipe."""

import dataclasses
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore

from seq2seq.config import RunConfig, read_config
from seq2seq.files import conf_dir
from seq2seq.reports.preset import preset, settings
from tests.places import ROOT

RECIPES = sorted(path.stem for path in Path(ROOT / "conf/experiment").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", *RECIPES])
def test_a_recipe_is_what_hydra_makes_of_it(name: str) -> None:
    ConfigStore.instance().store(name="schema", node=RunConfig)
    words = ["run_dir=", *([f"experiment={name}"] if name else [])]
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        assert preset(name) == read_config(compose("train", words))


def test_only_what_differs_from_the_recipe_is_marked() -> None:
    recipe = preset("multi30k")
    mine = dataclasses.replace(recipe, seed=5, run_dir="runs/mine", optim=dataclasses.replace(recipe.optim, lr=0.5))
    name, found = settings(mine)
    assert name == "experiment=multi30k"
    assert {each.key: (each.value, each.preset) for each in found if each.is_changed} == {
        "seed": (5, 1),
        "optim.lr": (0.5, 0.01),
    }
    assert next(each.value for each in found if each.key == "run_dir") == "runs/mine"


def test_a_name_of_ones_own_is_compared_with_the_defaults() -> None:
    name, found = settings(RunConfig(name="mine"))
    assert name == "the defaults of conf/train.yaml"
    assert [each.value for each in found if each.is_changed and each.key == "name"] == ["mine"]
