"""Several processes of one run: who knows what, who says what, how they end. Real ones, however they are started."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from seq2seq.training import sweep_summary
from tests.training.launching import TORCHRUN, TRAIN, end_of, others, run, started, wait_for
from tests.training.tiny_runs import TINY, checkpoint
from tests.training.two_ranks import at_a_free_port, launcher

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

# Each process notes its rank in a file where it verifies a store, computes intervals, or sums a sweep up.
WHO_DOES_WHAT = """
from pathlib import Path
from seq2seq.dataset.store import PairStore
from seq2seq.sweeps import end
from seq2seq.training import validation

def noting(name, function):
    def noted(*arguments, **options):
        with open(Path(os.environ["NOTES"]) / name, "a") as file:
            file.write(os.environ["RANK"] + "\\n")
        return function(*arguments, **options)
    return noted

PairStore.verify = noting("verified", PairStore.verify)
validation.report = noting("scored", validation.report)
end.summarise_if_tracked = noting("summed-up", end.summarise_if_tracked)
"""

BUG = """
from seq2seq.training.module import TranslationModule
if rank == 1:
    del TranslationModule.training_step
"""

# The process that is started is no train.py, and waits for nobody: all others wait for it.
STARTS_A_STRANGER = """
import subprocess
from seq2seq.cli import front_door
from seq2seq.training import workers

workers.GRACE_S = 0.1
workers._start = lambda rank, n, port: subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE)
front_door("train")
"""

IMPATIENT = """
from seq2seq.cli import front_door
from seq2seq.training import preparation

preparation.NETWORK_DELAY_S = 0.1
front_door("train")
"""

# The other process gets Ctrl-C as soon as Python runs, and is then held where it would import torch.
INTERRUPTED_AT_ONCE = """
import os, signal, sys, time
from pathlib import Path

if "SEQ2SEQ_WORKER" in os.environ:
    os.kill(os.getpid(), signal.SIGINT)
    from seq2seq.training import start_up

    def hold():
        Path(os.environ["HELD"]).touch()
        time.sleep(600)

    start_up.quick_imports = hold
else:
    from seq2seq.training import workers
    workers.GRACE_S = 0.1
from seq2seq.cli import front_door
front_door("train")
"""


def words(corpus: Path, **changes: object) -> list[str]:
    """Of a training without `run_dir`."""
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "trainer.max_steps": 1}
    keys |= {"decoding.beam_size": 1}
    keys |= {name.replace("__", "."): value for name, value in changes.items()}
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


def of_two(corpus: Path, run_dir: Path) -> list[str]:
    """Of a training that starts two processes."""
    return words(corpus, run_dir=run_dir, trainer__devices=2)


def test_the_jobs_of_a_sweep_share_a_directory_and_nothing_else(corpus, tmp_path, monkeypatch):
    keys = words(corpus, seed="1,2", trainer__devices=2)
    script = launcher(tmp_path, before=WHO_DOES_WHAT)
    status, err = run(script, "-m", *keys, cwd=tmp_path, NOTES=tmp_path, **at_a_free_port())
    assert status == 0, err
    (sweep,) = (tmp_path / "runs/default").iterdir()
    runs = runs_in(sweep)
    assert [each.path.name for each in runs] == ["000_seed=1", "001_seed=2"]
    assert [each.config().seed for each in runs] == [1, 2]
    assert {each.config().logger.wandb_group for each in runs} == {sweep.name}
    identities = [each.identity() for each in runs]
    assert [each.sweep.number for each in identities if each and each.sweep] == [0, 1]
    assert len({each.id for each in identities if each}) == 2
    for each in runs:
        assert checkpoint(each.path)["global_step"] == 1 and each.is_scored
    for name in ("verified", "scored", "summed-up"):
        assert set((tmp_path / name).read_text().split()) == {"0"}, name
    assert_summed_up_if_tracked(sweep, monkeypatch)


def assert_summed_up_if_tracked(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[str, Path]] = []
    monkeypatch.setattr(sweep_summary, "log_sweep_summary", lambda group, runs, folder: logged.append((group, folder)))
    sweep_summary.summarise_if_tracked(sweep)
    assert logged == []
    for each in runs_in(sweep):
        config = each.config()
        config.logger.wandb, config.logger.wandb_mode = True, "offline"
        each.write_config(config)
    sweep_summary.summarise_if_tracked(sweep)
    assert logged == [(sweep.name, sweep)]


@pytest.mark.nightly
def test_torchrun_needs_no_run_dir(corpus, tmp_path):
    status, err = run(*TORCHRUN, "--nproc-per-node=2", TRAIN, *words(corpus, trainer__devices=2), cwd=tmp_path)
    assert status == 0, err
    (run_dir,) = (tmp_path / "runs/default").iterdir()
    assert RunDirectory(run_dir).is_scored
    assert err.count("translate with:") == 1


@pytest.mark.parametrize("shares_files", [True, False])
def test_machines_see_the_same_run_directory_or_end_at_once(corpus, tmp_path, shares_files):
    """Two processes that take themselves for two machines; without shared files, each has its own working directory.

    One pair has the variables of SLURM, the other one those of torchrun.
    """
    folders = [tmp_path, tmp_path if shares_files else tmp_path / "other"]
    folders[1].mkdir(exist_ok=True)
    meeting, keys = at_a_free_port(), words(corpus, trainer__n_nodes=2, trainer__strategy="ddp")
    impatient = tmp_path / "train.py"
    impatient.write_text(IMPATIENT)
    script = TRAIN if shares_files else impatient

    def machine(rank: int):
        place: dict[str, Any] = {"RANK": rank, "LOCAL_RANK": 0, "GROUP_RANK": rank, "WORLD_SIZE": 2}
        place |= {"LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "run"}
        if shares_files:
            place = {"SLURM_PROCID": rank, "SLURM_LOCALID": 0, "SLURM_NODEID": rank, "SLURM_NTASKS": 2}
            place |= {"SLURM_NTASKS_PER_NODE": 1, "SLURM_NNODES": 2}
        return started(script, *keys, cwd=folders[rank], **place, **meeting)

    with machine(0) as first, machine(1) as second:
        (status, err), (status_of_second, err_of_second) = end_of(first), end_of(second)
    if shares_files:
        assert (status, status_of_second) == (0, 0), err + err_of_second
        assert err_of_second == ""
        return
    assert (status, status_of_second, err_of_second) == (2, 2, "")
    assert re.fullmatch(
        rf"error: machine 1 .* nothing there: {folders[1]}/runs/default/\S+; put run_dir where .*\n", err
    )
    assert not list((tmp_path / "runs").rglob("*.json"))


def test_if_one_process_is_killed_while_the_others_wait_for_it_all_end(corpus, tmp_path):
    """No connection breaks then that the first process could notice."""
    script = tmp_path / "train.py"
    script.write_text(STARTS_A_STRANGER)
    with started(script, *of_two(corpus, tmp_path / "run"), cwd=tmp_path) as first:
        wait_for(lambda: others(first), first)
        os.kill(others(first)[0], signal.SIGKILL)
        status, err = end_of(first)
        assert not others(first)
    sentence = "error: process 1 of this run was killed by signal 9, so all of it ends; start the run again\n"
    assert (status, err) == (2, sentence)


def test_ctrl_c_while_the_processes_start_is_told_once(corpus, tmp_path):
    """It reaches all of them. Only the first one says so, and nothing is left."""
    run_dir, script, held = tmp_path / "run", tmp_path / "train.py", tmp_path / "held"
    script.write_text(INTERRUPTED_AT_ONCE)
    with started(script, *of_two(corpus, run_dir), cwd=tmp_path, HELD=held) as first:
        wait_for(lambda: (run_dir / "run.json").exists() and held.exists(), first)
        os.killpg(first.pid, signal.SIGINT)
        assert end_of(first) == (128 + signal.SIGINT, "stopped at once; nothing was saved yet\n")
        assert not others(first)
    assert not run_dir.exists()


def test_an_error_of_the_user_is_told_once(corpus, tmp_path):
    keys = words(corpus, trainer__strategy="bogus")
    status, err = run(launcher(tmp_path), *keys, cwd=tmp_path, **at_a_free_port())
    assert (status, err.count("error: "), "Traceback" in err) == (2, 1, False)
    assert err.splitlines()[-1].startswith("error: trainer: what is asked for does not work here")
    assert not list((tmp_path / "runs").rglob("config.yaml"))


def test_a_bug_in_another_process_is_told_once(corpus, tmp_path):
    status, err = run(launcher(tmp_path, before=BUG), *words(corpus), cwd=tmp_path, **at_a_free_port())
    assert (status, err.count("Traceback")) == (2, 1)
    assert err.splitlines()[-1].startswith("error: process 1 of this run failed [")
