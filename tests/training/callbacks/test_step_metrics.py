from types import SimpleNamespace

import pytest
import torch

from seq2seq.dataset.batches import collate
from seq2seq.training.callbacks import step_metrics
from seq2seq.training.callbacks.step_metrics import StepMetrics
from tests.training.test_module import make_module


def test_the_speed_is_that_of_all_processes_and_the_padding_that_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two micro-batches a step, of 5 target tokens each, beside those of other ranks: 30 in a step."""
    clock, rows = iter([0.0, 1.0, 4.0]), []
    monkeypatch.setattr(step_metrics, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(step_metrics, "step_is_complete", lambda trainer: trainer.is_complete)
    counters = SimpleNamespace(log_row=lambda trainer, metrics: rows.append(metrics))
    meter, module = StepMetrics(counters), make_module()  # type: ignore[arg-type]
    module.of_step = {"train/loss": 2.0}
    module.n_tokens_of_all = torch.tensor(30)
    trainer = SimpleNamespace(is_complete=False, global_step=1, log_every_n_steps=1, current_epoch=0)
    batch = collate([[5], [5, 6]], [[5, 6], [7]], n_step_tokens=10)  # (2, 3) and (2, 3), one place of each is padding
    meter.on_train_start(trainer, module)  # type: ignore[arg-type]
    for trainer.is_complete in (False, True):
        meter.on_train_batch_end(trainer, module, None, batch, 0)  # type: ignore[arg-type]
    assert [row["train/tgt_tokens_per_s"] for row in rows] == [30 / 4]
    assert [row["train/padding_share"] for row in rows] == [pytest.approx(2 / 12)]
