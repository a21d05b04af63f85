"""Processes that torchrun starts for a run, as a library: what they are told, and how they end with one another.

Real ones, which do nothing: to import torch in each takes seconds. tests/training/test_two_ranks.py trains.
"""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from seq2seq.config.by_hydra import job_of, with_hydra
from seq2seq.errors import ConfigError, RunError
from seq2seq.training import processes
from seq2seq.training.launch import launch
from seq2seq.training.processes import start_processes
from tests.training.launching import wait_for
from tests.training.tiny_runs import arguments

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as on Linux")

# Writes which signal it got, and ends with the status of one that saved.
WAITS = """
import os, signal, sys, time
from pathlib import Path

place = Path(sys.argv[1])

def stop(signum, frame):
    (place / f"told-{os.environ['RANK']}").write_text(signal.Signals(signum).name)
    sys.exit(128 + signum)

for name in ("SIGTERM", "SIGINT", "SIGUSR1"):
    signal.signal(getattr(signal, name), stop)
(place / f"ready-{os.environ['RANK']}").touch()
"""
SLEEPS = "time.sleep(600)\n"
DIES_OF_IT = "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"  # by which torchrun ends the others
DIES = """
while len(list(place.glob("ready-*"))) < 2:
    time.sleep(0.01)
if os.environ["RANK"] == "1":
    {end}
time.sleep(600)
"""


def start(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    monkeypatch.setattr(processes, "TRAIN", (sys.executable, "-c", WAITS + code))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    start_processes(2, [str(folder)], lambda: "start the run again")


def test_of_several_processes_the_one_that_was_killed_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RunError) as caught:
        start(monkeypatch, tmp_path, DIES_OF_IT + DIES.format(end="os.kill(os.getpid(), signal.SIGKILL)"))
    assert str(caught.value) == "process 1 of this run was killed by signal 9, so all of it ends; start the run again"
    assert "Root Cause" in capfd.readouterr().err


def test_a_process_that_failed_has_said_why_and_its_status_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        start(monkeypatch, tmp_path, DIES_OF_IT + DIES.format(end="sys.exit(2)"))
    assert capfd.readouterr() == ("", "")


def test_a_process_that_dies_of_sigterm_before_it_can_save_has_its_status(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=r"^143$"):
        start(monkeypatch, tmp_path, DIES_OF_IT + DIES.format(end="os.kill(os.getpid(), signal.SIGTERM)"))


def test_a_time_to_save_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "2m")
    with pytest.raises(ConfigError, match=r"^TORCH_ELASTIC_SHUTDOWN_TIMEOUT=2m is not a number of seconds from 0 to"):
        start(monkeypatch, tmp_path, SLEEPS)


@pytest.mark.parametrize("name", ["SIGINT", "SIGUSR1"])
def test_a_signal_reaches_all_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    signum = getattr(signal, name)
    before = signal.signal(signum, signal.SIG_DFL)  # whoever runs the tests in the background may ignore it

    def tell() -> None:
        wait_for(lambda: len(list(tmp_path.glob("ready-*"))) == 2)
        os.kill(os.getpid(), signum)

    threading.Thread(target=tell, daemon=True).start()
    try:
        with pytest.raises(SystemExit, match=f"^{128 + signum}$"):
            start(monkeypatch, tmp_path, SLEEPS)
        assert signal.getsignal(signum) == signal.SIG_DFL
    finally:
        signal.signal(signum, before)
    assert [(tmp_path / f"told-{rank}").read_text() for rank in range(2)] == [name, name]
    assert capfd.readouterr() == ("", "")


def test_a_hangup_that_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        os.kill(os.getpid(), signal.SIGHUP)
        start(monkeypatch, tmp_path, f"os.kill({os.getpid()}, signal.SIGHUP)\n")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_several_machines_without_a_launcher_are_refused(corpus: Path, tmp_path: Path) -> None:
    words = arguments(corpus, tmp_path / "run", {"trainer.n_nodes": 2})
    with pytest.raises(ConfigError, match="n_nodes=2 needs something that starts processes on each machine"):
        with_hydra(words, lambda cfg: launch(job_of(cfg), words, None))
    assert not (tmp_path / "run").exists()
