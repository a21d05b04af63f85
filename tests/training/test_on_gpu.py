"""Runs on a GPU, with what has code of its own there; the first of them also on a CPU, so that the test stays true."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import seq2seq
from seq2seq.training.trainer import set_up_machine
from tests.training.tiny_runs import checkpoint, tiny_config, train_with, values_of

ON_GPU: list[dict[str, Any]] = [
    {},
    {"trainer.precision": "bf16-mixed", "optim.optimizer": "muon", "trainer.ema_decay": 0.99, "batch.accumulate": 2},
    {"trainer.precision": "16-mixed"},
    {"trainer.precision": "bf16-mixed", "trainer.compile": True},
    {"trainer.precision": "bf16-mixed", "batch.max_tokens": "auto", "trainer.max_epochs": 60},
    {"model.window": 2, "model.word_dropout": 0.1},
]


@pytest.mark.parametrize(
    ("device", "changes"),
    [("cpu", {"trainer.max_epochs": 1}), *(pytest.param("cuda", changes, marks=pytest.mark.gpu) for changes in ON_GPU)],
    ids=str,
)
def test_a_run_learns_and_is_scored(device: str, changes: dict[str, Any], corpus: Path, tmp_path: Path) -> None:
    config = tiny_config(corpus, tmp_path / "run", {"trainer.accelerator": device} | changes)
    assert set_up_machine(config.trainer).accelerator == device
    outcome = train_with(config)
    assert outcome.tests
    assert all(weight.isfinite().all() for weight in checkpoint(config.run_dir)["state_dict"].values())
    losses = list(values_of(config.run_dir, "train/loss").values())
    assert losses[-1] < losses[0]


@pytest.mark.gpu
@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_gpu_translates_as_the_cpu_does(trained_run: Path, beam_size: int) -> None:
    lines = ["Ba bi.", "Fo fu da.", "Ba fo bi fu."]
    on_gpu, on_cpu = (
        [each.text for each in translator.translate(lines, replace(translator.decoding, beam_size=beam_size, n_best=1))]
        for translator in (seq2seq.load(trained_run, device=name, precision="float32") for name in ("cuda", "cpu"))
    )
    assert on_gpu == on_cpu
    assert not torch.backends.cuda.cudnn_sdp_enabled()
