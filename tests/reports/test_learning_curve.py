from pathlib import Path

import pytest

from seq2seq.cli import main
from seq2seq.config import OptimConfig, RunConfig
from seq2seq.reports.curves import Curve
from seq2seq.reports.learning_curve import over_seeds
from tests.reports.full_runs import ended_run, logged, started_run
from tests.reports.test_pictures import text_of


def learned(path: Path, *losses: float) -> Path:
    logged(
        path, *((10 * n, name, loss, n) for n, loss in enumerate(losses, 1) for name in ("train/loss", "valid/loss"))
    )
    return path


def test_seeds_are_their_mean_in_a_band(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = tmp_path / "sweep"
    for seed, losses in enumerate([(6.0, 5.0), (7.0, 4.0, 3.0)], 1):
        learned(ended_run(sweep / f"seed{seed}", 20.0, RunConfig(seed=seed)), *losses)
    learned(ended_run(sweep / "slow", 20.0, RunConfig(seed=1, optim=OptimConfig(lr=0.5))), 8.0, 7.0)
    (sweep / "multirun.yaml").touch()
    training = learned(started_run(tmp_path / "training"), 8.0)
    picture = tmp_path / "new" / "curve.svg"
    begun = started_run(tmp_path / "begun")
    main(["report", str(sweep), str(training), str(begun), "--curve", str(picture)])
    text = text_of(picture)
    assert f"{begun} has no metrics yet, and is left out" in capsys.readouterr().err
    assert "seed1 and 1 more: valid" in text and "slow: valid" in text and "training: train" in text
    assert "seed2" not in text
    assert picture.read_text().count('id="FillBetweenPolyCollection') == 2  # of loss on train and on valid


def test_a_mean_is_of_all_seeds() -> None:
    curves = [Curve([10, 20, 30], values=[6.0, 5.0, 1.0]), Curve([10, 20], values=[8.0, 5.0])]
    assert over_seeds(curves) == ([10, 20], [7.0, 5.0], [pytest.approx(2**0.5), 0.0])
    assert over_seeds([]) == ([], [], [])
    # Epochs of 12 and of 16 steps: at step 16 the first is a third of the way from 6 to 3, and at 24 both are there.
    curves = [Curve([12, 24, 36], values=[6.0, 3.0, 1.0]), Curve([16, 32], values=[5.0, 1.0])]
    steps, means, deviations = over_seeds(curves)
    assert (steps, means, deviations) == (
        [16, 24, 32],
        [5.0, 3.0, pytest.approx(4 / 3)],
        [0.0, 0.0, pytest.approx(2**0.5 / 3)],
    )


def test_a_run_without_metrics_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", str(started_run(tmp_path / "run")), "--curve", str(tmp_path / "curve.png")])
    assert "has no metrics.csv with metrics in it" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path / "run"), "--curve", str(tmp_path / "curve.txt")])
    assert "curve.txt: its ending must be one of png, svg, pdf" in capsys.readouterr().err
