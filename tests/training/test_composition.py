"""What somebody else's model says about itself is data: nothing of this machine is looked up for it."""

import dataclasses
from pathlib import Path

import pytest

from seq2seq.artifacts.checkpoint import Checkpoint
from seq2seq.artifacts.model_directory import write_model_directory, write_safetensors
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import read_config
from seq2seq.errors import CheckpointError, ConfigError, RunError
from seq2seq.training.composed import config_of_models, resumed_config
from tests.config.test_config import composed
from tests.translating import model_content, write_run


def test_a_preset_on_resume_sets_only_its_own_keys(tmp_path: Path) -> None:
    model = model_content()
    run = write_run(tmp_path / "run", model)
    checkpoint = Checkpoint(run, model, 0, "", is_state=True, position={})
    assert not resumed_config(composed("logger=csv"), ["logger=csv"], checkpoint, run).logger.tensorboard
    resumed = resumed_config(composed("trainer=cpu"), ["trainer=cpu"], checkpoint, run)
    assert resumed.trainer == dataclasses.replace(read_config(model.config).trainer, accelerator="cpu")


@pytest.fixture(scope="module")
def nosy() -> SavedModel:
    """A model whose configuration asks for a variable of the environment."""
    model = model_content()
    return dataclasses.replace(model, config={**model.config, "name": "${oc.env:HOME}"})


REFUSAL = r"name: '\$\{oc\.env:HOME\}' names a value that is somewhere else, and is not looked up"


def test_the_configuration_of_a_checkpoint_is_not_resolved(nosy: SavedModel, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", nosy)
    with pytest.raises(CheckpointError, match=rf"model\.ckpt: .*{REFUSAL}"):
        TrainedModel.read(run)
    with pytest.raises(CheckpointError, match=REFUSAL):
        config_of_models(composed(f"finetune={run}"), [])
    with pytest.raises(ConfigError, match=REFUSAL):
        resumed_config(composed(), [], Checkpoint(run, nosy, 0, "", is_state=True, position={}), run)


def test_the_configuration_of_a_model_directory_is_not_resolved(nosy: SavedModel, tmp_path: Path) -> None:
    def write_weights(folder: Path) -> None:
        write_safetensors(folder, nosy.weights, nosy.tokenizer_sha256)

    write_model_directory(tmp_path / "shipped", nosy, "", write_weights)
    with pytest.raises(CheckpointError, match=rf"shipped: .*{REFUSAL}"):
        TrainedModel.read(tmp_path / "shipped")


def test_the_configuration_of_a_run_directory_is_not_resolved(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.write_config(read_config(model_content().config))
    assert run.config().name == "default"
    file = tmp_path / "config.yaml"
    file.write_text(file.read_text().replace("name: default", "name: ${oc.env:HOME}"))
    with pytest.raises(RunError, match=rf"config\.yaml: is not a configuration of this .*{REFUSAL}"):
        run.config()
