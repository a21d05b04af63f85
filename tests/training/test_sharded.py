"""A model that is split over two processes: what is saved is whole, and any number of processes goes on from it."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import seq2seq
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config.trainer import TrainerConfig
from seq2seq.dataset.prepare import prepare
from seq2seq.model.transformer import Transformer
from tests.training.plain_loop import assert_measured_as_by_one, plain_loop
from tests.training.tiny_runs import arguments, checkpoint, tiny_config
from tests.training.two_ranks import train_together

DECAY = 0.9
CHANGES: dict[str, Any] = {
    "optim.optimizer": "muon",
    "trainer.devices": 2,
    "trainer.strategy": "fsdp",
    "trainer.max_epochs": 0,
    "trainer.max_steps": 2,
    "trainer.val_every_n_steps": 1,
    "trainer.average_last": 10,
    "trainer.patience": 0,
    "trainer.ema_decay": DECAY,
    "batch.max_tokens": 120,
    "batch.accumulate": 2,
    "model.dropout": 0.0,
    "optim.eps": 1e-3,
    "decoding.beam_size": 1,
}
LONG = [("ddp", 2), ("fsdp", 4), ("auto", 1), ("fsdp", 2)]


def expected_average(config: Any, run_dir: Path, n_steps: int) -> dict[str, torch.Tensor]:
    """The exponential average of the weights, from those that each validation has left."""
    torch.manual_seed(config.seed)
    average = dict(Transformer(config.model, prepare(config).tokenizer.vocab_size).state_dict())
    for step in range(1, n_steps + 1):
        decay = min(DECAY, (1 + step) / (10 + step))
        weights = checkpoint(run_dir, f"recent-{step:08}.ckpt")["state_dict"]
        average = {name: w * decay + weights[f"model.{name}"] * (1 - decay) for name, w in average.items()}
    return average


@pytest.mark.skipif(sys.platform != "linux", reason="gloo on this system is not tested")
@pytest.mark.parametrize("parts", [[("auto", 1)], pytest.param(LONG, marks=pytest.mark.nightly)], ids=len)
def test_checkpoints_are_whole_and_belong_to_no_number_of_processes(corpus, tmp_path, parts):
    run_dir, n_steps = tmp_path / "run", 2
    done = train_together(tmp_path, *arguments(corpus, run_dir, CHANGES))
    assert done.returncode == 0, done.stderr
    for strategy, n in parts:
        n_steps += 2
        changes = [f"trainer.devices={n}", f"trainer.strategy={strategy}", f"trainer.max_steps={n_steps}"]
        done = train_together(tmp_path, f"resume={run_dir}", *changes, n=n)
        assert done.returncode == 0, done.stderr
    assert "so that the steps are the same but for rounding and the draws of dropout" in done.stderr

    config = tiny_config(corpus, run_dir, CHANGES)
    weights, nlls = plain_loop(config, n_ranks=2, n_steps=n_steps)
    last = checkpoint(run_dir)
    for name, weight in weights.items():  # Muon rounds to bf16: a last digit of a sum decides about 0.4% of a step
        torch.testing.assert_close(last["state_dict"][f"model.{name}"], weight, rtol=1e-3, atol=1e-4)
    losses = [each.value for each in RunDirectory(run_dir).metrics() if each.name == "train/loss"]
    assert losses == pytest.approx(nlls, rel=1e-4)
    (averages,) = (state["weights"] for state in last["callbacks"].values() if "n_updates" in state)
    for name, average in expected_average(config, run_dir, n_steps).items():
        torch.testing.assert_close(averages[name], average, rtol=1e-4, atol=1e-5)
    assert_measured_as_by_one(config, averages, n_steps)
    assert seq2seq.load(run_dir, device="cpu", threads=1).translate(["ba bi"])[0].hypotheses


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"strategy": "fsdp_cpu_offload"}, "trainer.strategy='fsdp_cpu_offload' is not one of auto, ddp, fsdp"),
        ({"strategy": "fsdp", "precision": "16-mixed"}, "does not work with trainer.strategy=fsdp; use bf16-mixed"),
        ({"strategy": "fsdp", "compile": True}, "does not work with trainer.strategy=fsdp; leave one of them out"),
        ({"strategy": "fsdp", "accelerator": "mps"}, "has nothing to split with trainer.strategy=fsdp; use auto"),
    ],
)
def test_what_cannot_be_split_is_refused(changes, sentence):
    (problem,) = TrainerConfig(max_steps=1, **changes).problems()
    assert problem.endswith(sentence) or sentence in problem
