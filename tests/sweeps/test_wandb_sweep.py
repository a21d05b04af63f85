"""The sweep file for Weights & Biases, read by the code of its own package: as far as that goes without a server."""

from pathlib import Path

import pytest

import seq2seq
from seq2seq import cli
from seq2seq.sweeps.space import read_space
from seq2seq.sweeps.wandb_sweep import wandb_sweep
from tests.sweeps.test_space import SPACE

WORDS = ["experiment=demo", "trainer.monitor=valid/loss"]


# Its code is imported where it runs: that takes longer than these tests, and all processes would do it.


def read_back(text: str, folder: Path) -> dict:
    from wandb.sdk.launch.sweeps.utils import load_sweep_config

    (folder / "sweep.yaml").write_text(text)
    content = load_sweep_config(str(folder / "sweep.yaml"))
    assert content is not None
    return content


def test_wandb_searches_the_same_space(tmp_path: Path) -> None:
    """W&B's own scheduler for Optuna makes of the file what we make of the space."""
    from wandb.sdk.sweeps.scheduler.optuna import search_space_from_sweep_config

    space = read_space({"space": SPACE, "metric": "valid/loss", "trials": 7}, "")
    content = read_back(wandb_sweep(space, WORDS), tmp_path)
    found = search_space_from_sweep_config(content["parameters"])
    assert found == space.distributions()
    assert content["metric"] == {"name": "valid/loss", "goal": "minimize"}
    assert (content["method"], content["run_cap"], content["early_terminate"]["min_iter"]) == ("bayes", 7, 2)
    never = read_space({"space": SPACE, "prune_from": 0}, "")
    assert "early_terminate" not in read_back(wandb_sweep(never, WORDS), tmp_path)


def test_the_words_of_an_agent_are_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `wandb agent` makes of the command and of the values that the server sends."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

    cli.main(["search", "multi30k", "seed=4", "--wandb"])
    content = read_back(capsys.readouterr().out, tmp_path)
    values = {"optim.optimizer": "adamw", "optim.lr": 0.003, "optim.warmup_steps": 40, "model.dropout": 0.1}
    assert values.keys() == content["parameters"].keys()
    args = create_sweep_command_args({"args": {key: {"value": value} for key, value in values.items()}})
    command: list[str] = []
    for word in create_sweep_command(content["command"]):
        command += args["args_no_hyphens"] if word == "${args_no_hyphens}" else [word]
    assert command[:3] == ["${env}", "${interpreter}", "${program}"] and content["program"] == "train.py"
    config = seq2seq.config(command[3:])
    assert (config.seed, config.optim.optimizer, config.optim.lr, config.optim.warmup_steps) == (4, "adamw", 0.003, 40)
    assert (config.model.dropout, config.trainer.monitor, config.trainer.max_steps) == (0.1, "valid/loss", 200)
