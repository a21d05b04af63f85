"""Which one of several processes this is."""

import os

import pytest

from seq2seq.cores import n_cores
from seq2seq.errors import ConfigError
from seq2seq.translation.sharing import processes
from seq2seq.translation.sharing.processes import Process, launched

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "6", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
SRUN = {
    "SLURM_STEP_NUM_TASKS": "7",
    "SLURM_STEP_TASKS_PER_NODE": "2(x3),1",
    "SLURM_NODEID": "1",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_CPUS_ON_NODE": "12",
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("SLURM", "TORCHELASTIC", "RANK", "WORLD", "LOCAL_")):
            monkeypatch.delenv(name)


def started_with(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> Process | None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return launched()


def test_a_process_that_nobody_launched_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launched() is None
    assert started_with(monkeypatch, TORCHRUN | {"WORLD_SIZE": "1"}) is None


def test_a_batch_script_is_no_process_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """sbatch sets these before anybody calls srun."""
    assert started_with(monkeypatch, {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}) is None
    assert started_with(monkeypatch, {"SLURM_STEP_NUM_TASKS": "1"}) is None  # srun --pty bash


def test_torchrun_says_who_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started_with(monkeypatch, TORCHRUN) == Process(5, 6, 1, 2, n_cores(), False)
    again = started_with(monkeypatch, TORCHRUN | {"TORCHELASTIC_RESTART_COUNT": "1"})
    assert again is not None and again.is_restart and not again.is_first
    monkeypatch.delenv("LOCAL_WORLD_SIZE")
    by_hand = started_with(monkeypatch, {"RANK": "0"})
    assert by_hand is not None and by_hand.n_local == 6 and by_hand.is_first


def test_srun_says_who_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started_with(monkeypatch, SRUN) == Process(3, 7, 1, 2, 12, False)
    last = started_with(monkeypatch, SRUN | {"SLURM_NODEID": "3", "SLURM_RESTART_COUNT": "2"})
    assert last is not None and (last.n_local, last.is_restart) == (1, True)


def test_cores_are_shared_out_unless_srun_has_done_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "n_cores", lambda: 12)
    assert Process(0, 6, 0, 4, 12).n_cores == 3
    assert Process(0, 32, 0, 32, 12).n_cores == 1
    monkeypatch.setattr(processes, "n_cores", lambda: 2)  # bound by --cpus-per-task=2
    assert Process(0, 6, 0, 4, 12).n_cores == 2


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WORLD_SIZE": "2"}, "RANK='' does not say which of several processes this is; .* or unset WORLD_SIZE"),
        ({"WORLD_SIZE": "2", "RANK": "x"}, "RANK='x'"),
        ({"SLURM_STEP_NUM_TASKS": "2"}, "SLURM_NODEID='' .* or unset SLURM_STEP_NUM_TASKS"),
        (SRUN | {"SLURM_NODEID": "4"}, "SLURM_STEP_TASKS_PER_NODE does not say how many tasks this node has"),
    ],
)
def test_variables_that_say_too_little_are_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        started_with(monkeypatch, variables)
