"""A sweep of which jobs fail and are killed, two at a time: given again, it is complete. Real trainings.

tests/faults/test_stopped_sweeps.py has them one at a time.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from seq2seq.artifacts.sweep_directory import SweepDirectory
from tests.training.launching import TRAIN, end_of, run, started, wait_for
from tests.training.tiny_runs import arguments, write_corpus

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


def process_of(run_dir: Path) -> int:
    """The process that trains there; 0: none yet."""
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        if f"run_dir='{run_dir}'" in command.read_text().split("\0"):
            return int(command.parent.name)
    return 0


def test_a_sweep_with_jobs_that_fail_and_one_that_is_killed_is_complete_when_given_again(tmp_path: Path) -> None:
    corpus, sweep = write_corpus(tmp_path / "corpus", n_train=60), SweepDirectory(tmp_path / "sweep")
    keys = arguments(corpus, sweep.path, {"trainer.max_epochs": 0, "trainer.max_steps": 200, "trainer.patience": 0})
    words = [*(word for word in keys if not word.startswith("seed=")), "seed=1,2", "data.valid=valid,later"]
    words += ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    names = [f"{i:03d}_data.valid={valid}_seed={seed}" for i, (seed, valid) in enumerate(
        (seed, valid) for seed in (1, 2) for valid in ("valid", "later")
    )]  # fmt: skip
    first = sweep.run(names[0])
    with started(TRAIN, "-m", *words, cwd=tmp_path, is_fresh=True) as process:
        wait_for(lambda: first.metrics_file.exists(), process)
        os.kill(process_of(first.path), signal.SIGKILL)
        status, err = end_of(process)
    assert status == 2, err
    assert f"  {names[0]}: was killed by signal 9" in err
    assert sweep.jobs() == names
    assert [name for name in names if sweep.run(name).is_scored] == [names[2]]
    for language in ("fr", "en"):
        shutil.copy(corpus / f"valid.{language}", corpus / f"later.{language}")
    status, err = run(TRAIN, "-m", *words, cwd=tmp_path, is_fresh=True)
    assert status == 0, err
    assert "4 of 4 jobs are finished" in err and f"{names[2]} is finished already" in err
