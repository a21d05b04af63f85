from pathlib import Path

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.reports.cost import cost
from tests.reports.full_runs import ended_run, logged, started_run


def test_a_finished_run_has_kept_its_steps_whatever_it_logged(tmp_path: Path) -> None:
    finished, training = ended_run(tmp_path / "a", 20.0, step=72), started_run(tmp_path / "b")
    for run in (finished, training):
        logged(run, (10, "train/loss", 5.0, 1000.0), (70, "train/loss", 4.0, 1360.0))
    assert (cost(RunDirectory(finished)).steps, cost(RunDirectory(training)).steps) == (72, 70)
