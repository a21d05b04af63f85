"""Several processes of one run: who knows what, who says what, how they end. Real ones, however they are started."""

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from seq2seq import cli
from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from tests.training.launching import TORCHRUN, TRAIN, end_of, free_port, others, run, started, wait_for
from tests.training.tiny_runs import TINY, checkpoint
from tests.training.wandb_file import read_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

# Each process notes its rank in a file where it verifies a store, or computes intervals.
WHO_DOES_WHAT = """
import os
from pathlib import Path
from seq2seq.cli import front_door
from seq2seq.dataset.store import PairStore
from seq2seq.training import validation

def noting(name, function):
    def noted(*arguments, **options):
        with open(Path(os.environ["NOTES"]) / name, "a") as file:
            file.write(os.environ.get("RANK", "0") + "\\n")
        return function(*arguments, **options)
    return noted

PairStore.verify = noting("verified", PairStore.verify)
validation.report = noting("scored", validation.report)
front_door("train")
"""

BUG = """
import os
from seq2seq.cli import front_door
from seq2seq.training.module import TrainingModule

if os.environ.get("RANK") == "1":
    del TrainingModule.training_step
front_door("train")
"""


def words(corpus: Path, **changes: object) -> list[str]:
    """Of a training without `run_dir`."""
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "trainer.max_steps": 3}
    keys |= {name.replace("__", "."): value for name, value in changes.items()}
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


def endless(corpus: Path, run_dir: Path) -> list[str]:
    """Of a training on two processes that goes on until somebody ends it."""
    return words(
        corpus, run_dir=run_dir, trainer__devices=2, trainer__max_steps=10**6, trainer__val_every_n_steps=10,
        trainer__max_epochs=0, trainer__valid_sentences=1, trainer__patience=0,
    )  # fmt: skip


@pytest.mark.parametrize(("devices", "seeds"), [(1, [1, 2]), (2, [1, 2])])
def test_the_jobs_of_a_sweep_share_a_directory_and_nothing_else(corpus, tmp_path, capsys, devices, seeds):
    script = tmp_path / "train.py"
    script.write_text(WHO_DOES_WHAT)
    is_tracked = devices == 1
    keys = words(corpus, seed=",".join(map(str, seeds)), trainer__devices=devices, logger__wandb=is_tracked)
    status, err = run(script, "-m", *keys, cwd=tmp_path, NOTES=tmp_path)
    assert status == 0, err
    (sweep,) = (tmp_path / "runs/default").iterdir()
    runs = runs_in(sweep)
    assert [each.path.name for each in runs] == ["000_seed=1", "001_seed=2"]
    assert [each.config().seed for each in runs] == seeds
    assert {each.config().logger.wandb_group for each in runs} == {sweep.name}
    identities = [each.identity() for each in runs]
    assert [each.sweep.number for each in identities if each and each.sweep] == list(range(len(seeds)))
    assert len({each.id for each in identities if each}) == len(seeds)
    for each in runs:
        assert checkpoint(each.path)["global_step"] == 3 and each.is_scored
    tracked = [read_run(each.path) for each in runs] if is_tracked else []
    assert [each["group"] for each in tracked] == [sweep.name] * len(tracked)
    assert len({id for each in tracked for id in each["ids"]}) == len(tracked)
    summary = read_run(sweep)
    assert (summary["group"], "best/test chrf" in summary["summary"]) == (
        (sweep.name, True) if is_tracked else ("", False)
    )
    for name in ("verified", "scored"):
        assert set((tmp_path / name).read_text().split()) == {"0"}, name
    cli.main(["compare", str(sweep), "--format", "json"])
    compared = json.loads(capsys.readouterr().out)
    assert compared["runs"].keys() == set("ABC"[: len(seeds)])
    (recipe,) = compared["seeds"]
    assert recipe["seeds"] == seeds and set(recipe["scores"]) >= {"valid/bleu", "test/test/ter"}


def test_torchrun_needs_no_run_dir(corpus, tmp_path):
    status, err = run(*TORCHRUN, "--nproc-per-node=2", TRAIN, *words(corpus, trainer__devices=2), cwd=tmp_path)
    assert status == 0, err
    (run_dir,) = (tmp_path / "runs/default").iterdir()
    assert RunDirectory(run_dir).is_scored
    assert err.count("translate with:") == 1


@pytest.mark.parametrize("shares_files", [True, False])
def test_machines_see_the_same_run_directory_or_end_at_once(corpus, tmp_path, shares_files):
    """Two processes that take themselves for two machines; without shared files, each has its own working directory.

    One pair has the variables of SLURM, the other one those that a launcher of one's own would set.
    """
    folders = [tmp_path, tmp_path if shares_files else tmp_path / "other"]
    folders[1].mkdir(exist_ok=True)
    port, keys = free_port(), words(corpus, trainer__n_nodes=2, trainer__strategy="ddp")

    def machine(rank: int):
        place: dict[str, Any] = {"RANK": rank, "LOCAL_RANK": 0, "NODE_RANK": rank, "WORLD_SIZE": 2}
        if shares_files:
            place = {"SLURM_PROCID": rank, "SLURM_LOCALID": 0, "SLURM_NODEID": rank, "SLURM_NTASKS": 2}
            place |= {"SLURM_NTASKS_PER_NODE": 1, "SLURM_NNODES": 2}
        return started(TRAIN, *keys, cwd=folders[rank], **place, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)

    with machine(0) as first, machine(1) as second:
        (status, err), (status_of_second, err_of_second) = end_of(first), end_of(second)
    if shares_files:
        assert (status, status_of_second) == (0, 0), err + err_of_second
        assert err_of_second == ""
        return
    assert (status, status_of_second, err_of_second) == (2, 2, "")
    assert re.fullmatch(
        rf"error: machine 1 of this run finds nothing there: {folders[1]}/runs/default/\S+; put run_dir where all "
        r"machines see it under this name\n",
        err,
    )
    assert not list((tmp_path / "runs").rglob("*.json"))


@pytest.mark.parametrize("victim", ["first", "other"])
def test_if_one_process_is_killed_all_end(corpus, tmp_path, victim):
    run_dir = tmp_path / "run"
    with started(TRAIN, *endless(corpus, run_dir), cwd=tmp_path) as first:
        wait_for((run_dir / "checkpoints/last.ckpt").exists, first)
        (other,) = others(first)
        os.kill(first.pid if victim == "first" else other, signal.SIGKILL)
        status, err = end_of(first)
        wait_for(lambda: not others(first))
    assert "Traceback" not in err
    if victim == "first":
        assert (status, "error" in err) == (-signal.SIGKILL, False)
    else:
        sentence = (
            f"error: process 1 of this run was killed by signal 9, so all of it ends; continue with: {{}}{run_dir}"
        )
        assert (status, err.splitlines()[-1]) == (2, sentence.format("python train.py resume="))


def test_if_one_process_is_killed_while_the_others_wait_for_it_all_end(corpus, tmp_path):
    """No connection breaks then that the first process could notice."""
    run_dir = tmp_path / "run"
    with started(TRAIN, *endless(corpus, run_dir), cwd=tmp_path, is_fresh=True) as first:
        wait_for(lambda: others(first), first)
        os.kill(others(first)[0], signal.SIGKILL)
        status, err = end_of(first)
        assert not others(first)
    sentence = "error: process 1 of this run was killed by signal 9, so all of it ends; start the run again\n"
    assert (status, err) == (2, sentence)


def test_sigterm_to_the_first_process_saves_and_ends_all(corpus, tmp_path):
    run_dir = tmp_path / "run"
    with started(TRAIN, *endless(corpus, run_dir), cwd=tmp_path) as first:
        wait_for((run_dir / "checkpoints/last.ckpt").exists, first)
        first.terminate()
        status, err = end_of(first)
        assert not others(first)
    assert status == 128 + signal.SIGTERM
    assert err.splitlines()[-1] == f"stopped and saved; continue with: python train.py resume={run_dir}"
    steps = [each.step for each in RunDirectory(run_dir).metrics() if each.name == "train/loss"]
    assert checkpoint(run_dir)["global_step"] == steps[-1] + 1


def test_ctrl_c_while_the_processes_start_is_told_once(corpus, tmp_path):
    """It reaches all of them. Only the first one says so, and nothing is left."""
    run_dir = tmp_path / "run"
    with started(TRAIN, *endless(corpus, run_dir), cwd=tmp_path, is_fresh=True) as first:
        wait_for(lambda: (run_dir / "run.json").exists() and others(first), first)
        os.killpg(first.pid, signal.SIGINT)
        assert end_of(first) == (128 + signal.SIGINT, "stopped at once; nothing was saved yet\n")
        assert not others(first)
    assert not run_dir.exists()


def test_an_error_of_the_user_is_told_once(corpus, tmp_path):
    keys = words(corpus, trainer__devices=2, trainer__strategy="bogus")
    status, err = run(TRAIN, *keys, cwd=tmp_path)
    assert (status, err.count("error: "), "Traceback" in err) == (2, 1, False)
    assert err.splitlines()[-1].startswith("error: trainer: what is asked for does not work here")
    assert not list((tmp_path / "runs").rglob("config.yaml"))


def test_a_bug_in_another_process_is_told_once(corpus, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(BUG)
    status, err = run(script, *words(corpus, trainer__devices=2), cwd=tmp_path)
    assert (status, err.count("Traceback")) == (2, 1)
    assert err.splitlines()[-1].startswith("error: process 1 of this run failed [")
