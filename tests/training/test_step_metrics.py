from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from seq2seq.dataset.batches import Step, collate
from seq2seq.training import metrics
from seq2seq.training.metrics import Counters
from tests.training.test_module import make_module
from tests.training.tiny_runs import tiny_config, train_with, values_of


def test_the_loss_of_bf16_has_more_than_two_digits(corpus: Path, tmp_path: Path) -> None:
    changes = {
        "trainer.precision": "bf16-true",
        "trainer.max_steps": 3,
        "trainer.log_every_n_steps": 1,
        "data.test": [],
    }
    train_with(tiny_config(corpus, tmp_path / "run", changes))
    losses = torch.tensor(list(values_of(tmp_path / "run", "train/loss").values()))
    assert (losses.bfloat16() != losses).any()


def test_the_speed_is_that_of_all_processes_and_the_padding_that_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two micro-batches a step, of 5 target tokens each, beside those of other ranks: 30 in a step."""
    clock, rows = iter([0.0, 4.0]), []
    monkeypatch.setattr(metrics, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    meter, module = Counters(SimpleNamespace(epoch=0)), make_module()  # type: ignore[arg-type]
    monkeypatch.setattr(meter, "log_row", lambda module, metrics: rows.append(metrics))
    module.of_step = {"train/loss": 2.0}
    module.n_step_tokens, module.n_steps = torch.tensor(30), 10
    batch = collate([[5], [5, 6]], [[5, 6], [7]])  # (2, 3) and (2, 3), one place of each is padding
    meter.on_train_start(None, module)  # type: ignore[arg-type]
    meter.on_train_batch_end(None, module, None, Step([batch, batch]), 0)  # type: ignore[arg-type]
    assert [row["train/tgt_tokens_per_s"] for row in rows] == [30 / 4]
    assert [row["train/padding_share"] for row in rows] == [pytest.approx(2 / 12)]
