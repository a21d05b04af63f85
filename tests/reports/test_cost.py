from pathlib import Path

from seq2seq.artifacts.run_directory import Metric, RunDirectory
from seq2seq.reports.cost import Cost, cost, logged_cost
from tests.reports.full_runs import ended_run, logged, started_run


def test_the_cost_is_what_was_logged() -> None:
    rows = [
        Metric(10, "train/tgt_tokens_per_s", 100.0, "5000.0"),
        Metric(10, "train/process_memory_gb", 1.5, "5000.0"),
        Metric(10, "progress/tgt_tokens", 700.0, "5000.0"),
        Metric(10, "progress/hours", 0.5, "5000.0"),
        Metric(20, "train/tgt_tokens_per_s", 300.0, "5100.0"),
        Metric(20, "train/process_memory_gb", 1.25, "5100.0"),
        Metric(20, "train/device_memory_gb", 7.0, "5100.0"),
        Metric(20, "progress/tgt_tokens", 1500.0, "5100.0"),
        Metric(20, "progress/hours", 0.75, "5100.0"),
        Metric(30, "train/tgt_tokens_per_s", 120.0, "5200.0"),
        Metric(30, "test/news/bleu", 20.0, "8600.0"),
    ]
    assert logged_cost(rows) == Cost(
        n_parameters=None,
        steps=30,
        tgt_tokens=1500,
        tgt_tokens_per_s=120.0,
        hours=0.75,
        memory_gb=1.5,
        device_memory_gb=7.0,
    )


def test_a_finished_run_has_kept_its_steps_whatever_it_logged(tmp_path: Path) -> None:
    finished, training = ended_run(tmp_path / "a", 20.0, step=72), started_run(tmp_path / "b")
    for run in (finished, training):
        logged(run, (10, "train/loss", 5.0, 1000.0), (70, "train/loss", 4.0, 1360.0))
    assert (cost(RunDirectory(finished)).steps, cost(RunDirectory(training)).steps) == (72, 70)
