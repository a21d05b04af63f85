"""Two processes that train one model: real ones."""

import json

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.plain_loop import assert_measured_as_by_one, plain_loop
from tests.training.tiny_runs import arguments, checkpoint, tiny_config
from tests.training.two_ranks import needs_gloo, train_together

VALIDATED = "recent-00000002.ckpt"  # of the first validation, after the second step
# For the second process, 57 of the 60 minutes that it may take are over from the beginning.
CLOCKS_APART = """
from seq2seq.training.metrics import Counters

seconds = Counters.seconds
if rank == 1:
    Counters.seconds = property(lambda self: seconds.fget(self) + 57 * 60)
"""


@needs_gloo
def test_two_processes_train_the_model_that_one_would(corpus, tmp_path):
    changes = {
        "trainer.devices": 2,
        "trainer.strategy": "ddp",
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
    done = train_together(tmp_path, *arguments(corpus, run_dir, changes), before=CLOCKS_APART)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr  # also of the second process, which has nothing to do at the end
    trained = checkpoint(run_dir)
    expected, nlls = plain_loop(tiny_config(corpus, run_dir, changes), n_ranks=2, n_steps=3)
    for name, weight in expected.items():
        torch.testing.assert_close(trained["state_dict"][f"model.{name}"], weight, rtol=1e-4, atol=1e-5)
    assert (trained["position"]["n_done"], trained["position"]["world_size"]) == (3, 2)
    assert json.loads((run_dir / "scores.json").read_text()).keys() == {"test"}
    losses = [each for each in RunDirectory(run_dir).metrics() if each.name == "train/loss"]
    assert [each.step for each in losses] == [1, 2, 3]
    assert [each.value for each in losses] == pytest.approx(nlls, rel=1e-4)  # of both processes
    assert done.stderr.count("translate with:") == 1
    assert_measured_as_by_one(tiny_config(corpus, run_dir, changes), checkpoint(run_dir, VALIDATED)["state_dict"], 2)
