"""Numbers of processes that cannot be. tests/training/test_ranks.py has those that can."""

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import ConfigError
from seq2seq.training.ranks import Ranks, launched
from seq2seq.training.run import train
from seq2seq.training.workers import started
from tests.training.tiny_runs import tiny_config


def test_another_number_of_processes_than_the_configuration_asks_for_is_refused(corpus, tmp_path):
    config = tiny_config(corpus, tmp_path / "run", {"trainer.devices": 3})
    with pytest.raises(ConfigError, match=r"ask for 3 processes, and 2 were started; set trainer.devices to"):
        train(config, ranks=Ranks(world_size=2))
    assert not (tmp_path / "run").exists()


def test_several_machines_without_a_launcher_are_refused(corpus, tmp_path):
    config = tiny_config(corpus, tmp_path / "run", {"trainer.n_nodes": 2})
    with (
        pytest.raises(ConfigError, match="n_nodes=2 needs something that starts processes on each machine"),
        started(config, RunDirectory(tmp_path / "run")),
    ):
        pass


def test_a_process_started_by_hand_needs_all_variables(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(ConfigError, match="but there is no LOCAL_RANK, MASTER_ADDR, MASTER_PORT; use torchrun or srun"):
        launched()


def test_tasks_of_slurm_that_lightning_refuses_are_an_error_in_a_sentence(monkeypatch):
    for name, value in {"SLURM_NTASKS": "2", "SLURM_PROCID": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"SLURM: .* Use `--ntasks-per-node=2` instead"):
        launched()


@pytest.mark.parametrize(
    "variables", [{"WORLD_SIZE": "1"}, {"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, {"SLURM_NTASKS": "4"}]
)
def test_one_process_is_no_group(monkeypatch, variables):
    """In a container that sets WORLD_SIZE, in a batch job with one task, in an allocation without srun."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched() is None
