"""Two processes that train one model: real ones, started by the command that a user would type."""

import json
import os
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.dataset.prepare import prepare
from seq2seq.model.transformer import Transformer
from seq2seq.training.validation import Validation, translate_store
from tests.training.plain_loop import plain_loop
from tests.training.tiny_runs import arguments, checkpoint, command, tiny_config

VALIDATED = "recent-00000002.ckpt"  # of the first validation, after the second step
# For the second process, 57 of the 60 minutes that it may take are over from the beginning.
CLOCKS_APART = """
import os
from pytorch_lightning.callbacks import Timer
from seq2seq.cli import front_door

if os.environ.get("LOCAL_RANK") == "1":
    time_elapsed = Timer.time_elapsed
    Timer.time_elapsed = lambda self, stage="train": time_elapsed(self, stage) + 57 * 60
front_door("train")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="gloo on this system is not tested")
@pytest.mark.parametrize(
    ("optimizer", "strategy", "atol"),
    [("adamw", "ddp", 1e-5), ("muon", "fsdp", 5e-5)],  # a step of Muon is rounded to bf16
)
def test_two_processes_train_the_model_that_one_would(corpus, tmp_path, optimizer, strategy, atol):
    changes = {
        "optim.optimizer": optimizer,
        "trainer.devices": 2,
        "trainer.strategy": strategy,
        "trainer.max_epochs": 0,
        "trainer.max_steps": 3,
        "batch.max_tokens": 120,
        "batch.accumulate": 2,
        "model.dropout": 0.0,
        "model.positions": "rotary",
        "optim.eps": 1e-3,  # a larger one makes the scale of gradients matter more
        "trainer.val_every_n_steps": 2,
        "trainer.max_time": "00:01:00:00",
        "optim.schedule": "linear",
    }
    run_dir = tmp_path / "run"
    script = tmp_path / "train.py"
    script.write_text(CLOCKS_APART)
    done = command(*arguments(corpus, run_dir, changes), script=script, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr  # also of the second process, which has nothing to do at the end
    trained = checkpoint(run_dir)
    expected, nlls = plain_loop(tiny_config(corpus, run_dir, changes), n_ranks=2, n_steps=3)
    for name, weight in expected.items():
        torch.testing.assert_close(trained["state_dict"][f"model.{name}"], weight, rtol=1e-4, atol=atol)
    position = trained["position"]
    assert (position["epoch"], position["done"], position["world_size"]) == (0, 6, 2)
    assert json.loads((run_dir / "scores.json").read_text()).keys() == {"test"}
    losses = [each for each in RunDirectory(run_dir).metrics() if each.name == "train/loss"]
    assert [each.step for each in losses] == [0, 1, 2]
    assert [each.value for each in losses] == pytest.approx(nlls, rel=1e-4)  # of both processes
    assert done.stderr.count("translate with:") == 1
    assert_measured_as_by_one(tiny_config(corpus, run_dir, changes))


def assert_measured_as_by_one(config):
    """Each of the two processes had half of valid and test. This process has all, and weights that they saved."""
    run, prepared = RunDirectory(Path(config.run_dir)), prepare(config)
    model = Transformer(config.model, prepared.tokenizer.vocab_size)

    def load(name):
        weights = checkpoint(run.path, name)["state_dict"]
        model.load_state_dict({key.removeprefix("model."): weight for key, weight in weights.items()})
        return model

    logged = {each.name.removeprefix("valid/"): each.value for each in run.metrics() if each.step == 1}
    for name, value in Validation(prepared.valid, prepared.tokenizer, config).while_training(load(VALIDATED)).items():
        assert logged[name] == pytest.approx(value, rel=1e-4), name
    hypotheses = translate_store(load("model.ckpt").eval(), prepared.tests["test"], prepared.tokenizer, config.decoding)
    assert len(set(hypotheses)) > 3  # otherwise their order would hardly matter
    assert run.hypotheses("test") == hypotheses
