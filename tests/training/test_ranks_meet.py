"""How a process finds the others of its run: variables that cannot be right, and others that do not come.

tests/training/test_ranks.py has numbers that can be.
"""

import socket

import pytest
from pytorch_lightning.plugins.environments import SLURMEnvironment
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from seq2seq.errors import ConfigError, UserError
from seq2seq.training.ranks import Ranks, launched
from seq2seq.training.run import train
from seq2seq.training.trainer import Machine, n_devices
from tests.training.launching import free_port
from tests.training.tiny_runs import tiny_config


def test_another_number_of_processes_than_the_configuration_asks_for_is_refused(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    config = tiny_config(corpus, tmp_path / "run", {"trainer.devices": 3})
    with pytest.raises(ConfigError, match=r"ask for 3 processes, and 2 were started, 2 on each machine; set"):
        train(config, ranks=Ranks(world_size=2))
    assert not (tmp_path / "run").exists()


def test_a_process_started_by_hand_needs_all_variables(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(ConfigError, match="but there is no LOCAL_RANK, MASTER_ADDR, MASTER_PORT; use torchrun or srun"):
        launched()


SLURM = {"SLURM_PROCID": "0", "SLURM_NNODES": "2", "SLURM_NTASKS": "5", "SLURM_STEP_NUM_TASKS": "3"}


@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        ("2,1", "SLURM started 2,1 tasks on the nodes of this job, and a run needs the same number on each; give"),
        ("2(x2)", "SLURM_NTASKS=3, but there are SLURM_NNODES=2 nodes with 2 tasks each; give srun --nodes and"),
    ],
)
def test_variables_of_slurm_that_do_not_fit_are_refused(monkeypatch, tasks, sentence):
    for name, value in {**SLURM, "SLURM_STEP_TASKS_PER_NODE": tasks}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        launched()
    assert str(caught.value).startswith(sentence)


def test_numbers_that_were_left_out_are_those_of_the_launcher(corpus, tmp_path, monkeypatch):
    config = tiny_config(corpus, tmp_path / "run").trainer
    for name, value in {**SLURM, "SLURM_NTASKS": "6", "SLURM_NTASKS_PER_NODE": "3"}.items():
        monkeypatch.setenv(name, value)
    ranks = Ranks(0, 6, SLURMEnvironment(auto_requeue=False))
    assert n_devices(config, Machine("cpu", "32-true"), ranks) == 3
    config.devices, config.n_nodes = 1, 6
    with pytest.raises(ConfigError, match=r"n_nodes=6 ask for 6 processes, and 6 were started, 3 on each machine; set"):
        n_devices(config, Machine("cpu", "32-true"), ranks)


def test_more_processes_than_gpus_are_refused_in_all_of_them(corpus, tmp_path, monkeypatch):
    config = tiny_config(corpus, tmp_path / "run").trainer
    for name, value in {**SLURM, "SLURM_NTASKS": "900", "SLURM_NTASKS_PER_NODE": "900"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        ConfigError, match=r"^900 processes of a machine need as many GPUs, and this one sees \d; lower"
    ):
        n_devices(config, Machine("cuda", "32-true"), Ranks(0, 900, SLURMEnvironment(auto_requeue=False)))


def meet(monkeypatch, port: int, rank: int, **variables: str) -> str:
    """What a process is told that looks for another one, which never comes."""
    place = {"RANK": rank, "LOCAL_RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for name, value in {**place, "SEQ2SEQ_START_TIMEOUT": "0.1", **variables}.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(UserError) as caught:
        launched()
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_never_comes_is_waited_for_so_long_and_no_longer(monkeypatch, rank):
    port = free_port()
    sentence = f"the processes of this run did not meet at 127.0.0.1:{port}, where they wait 0.1 seconds ["
    assert meet(monkeypatch, port, rank).startswith(sentence)


def test_a_process_that_the_store_does_not_miss_is_missed(monkeypatch):
    """torchrun has a store of its own, which is there without any process of the run."""
    port = free_port()
    agent = TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    told = meet(monkeypatch, port, 0, TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0")
    assert "where they wait 0.1 seconds [missing: process 1]; look at what each of them printed" in told
    del agent


def test_a_port_that_somebody_else_has_is_named(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        told = meet(monkeypatch, taken.getsockname()[1], 0)
        assert "EADDRINUSE" in told and told.endswith(
            "whether another program has it (MASTER_ADDR, MASTER_PORT; docs/cluster.md)"
        )


@pytest.mark.parametrize("seconds", ["soon", "", "nan", "inf", "1e20", "-5"])
def test_a_timeout_that_is_no_number_of_seconds_is_refused(monkeypatch, seconds):
    assert meet(monkeypatch, 1, 0, SEQ2SEQ_START_TIMEOUT=seconds) == (
        f"SEQ2SEQ_START_TIMEOUT={seconds} is not a number of seconds from 0 to 1,000,000,000"
    )


@pytest.mark.parametrize(("name", "value"), [("RANK", ""), ("LOCAL_RANK", "-1"), ("WORLD_SIZE", "two")])
def test_a_variable_that_is_no_number_is_refused(monkeypatch, name, value):
    told = meet(monkeypatch, 1, 0, **{name: value})
    assert told == f"{name}={value!r} is not a number from 0; use torchrun or srun, or unset WORLD_SIZE"


@pytest.mark.parametrize(
    "variables",
    [
        {"WORLD_SIZE": "1"},
        {"SLURM_NTASKS": "4", "SLURM_PROCID": "0"},
        {"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
        {"SLURM_NTASKS": "4"},
        {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PTY_PORT": "40123"},
    ],
)
def test_one_process_is_no_group(monkeypatch, variables):
    """In a container that sets WORLD_SIZE, a batch job, a task of srun that is alone, an allocation, a shell in it."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched() is None
