import pytest

from seq2seq.artifacts.run_directory import Metric
from seq2seq.reports.cost import Cost, cost


def test_the_cost_is_what_was_logged() -> None:
    rows = [
        Metric(9, "train/tgt_tokens_per_s", 100.0, "5000.0"),
        Metric(9, "train/process_memory_gb", 1.5, "5000.0"),
        Metric(9, "progress/tgt_tokens", 700.0, "5000.0"),
        Metric(9, "progress/hours", 0.5, "5000.0"),
        Metric(19, "train/tgt_tokens_per_s", 300.0, "5100.0"),
        Metric(19, "train/process_memory_gb", 1.25, "5100.0"),
        Metric(19, "train/device_memory_gb", 7.0, "5100.0"),
        Metric(19, "progress/tgt_tokens", 1500.0, "5100.0"),
        Metric(19, "progress/hours", 0.75, "5100.0"),
        Metric(29, "train/tgt_tokens_per_s", 120.0, "5200.0"),
        Metric(30, "test/news/bleu", 20.0, "8600.0"),  # logged with the number of steps, not with that of the last one
    ]
    assert cost(rows) == Cost(
        n_parameters=None,
        steps=30,
        tgt_tokens=1500,
        tgt_tokens_per_s=120.0,
        hours=0.75,
        memory_gb=1.5,
        device_memory_gb=7.0,
    )


def test_hours_of_older_runs_are_those_of_their_file() -> None:
    rows = [Metric(9, "train/loss", 4.0, "5000.0"), Metric(19, "train/loss", 3.0, "6800.0")]
    assert cost(rows).hours == pytest.approx(0.5)
    assert cost([]) == Cost(None, None, None, None, None, None, None)
