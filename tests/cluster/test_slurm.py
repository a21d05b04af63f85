"""Runs under a real SLURM: a job on two nodes, an array, a job that is preempted and requeued."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.cluster.slurm import Slurm
from tests.places import ROOT
from tests.training.tiny_runs import arguments, checkpoint
from tests.translating import run_cli, sentences

HEADER = """#!/bin/bash
#SBATCH --nodes={nodes} --ntasks-per-node={tasks}
{more}
export MASTER_ADDR=127.0.0.1 OMP_NUM_THREADS=1 PYTHONPATH={root}  # the names of these nodes mean nothing
"""
STEPS: dict[str, Any] = {"trainer.max_epochs": 0, "trainer.max_steps": 4, "trainer.val_every_n_steps": 10**6}


def script(words: list[str], nodes: int = 1, tasks: int = 1, more: str = "", after: str = "") -> str:
    header = HEADER.format(nodes=nodes, tasks=tasks, more=more, root=ROOT)
    return header + f"srun {sys.executable} {ROOT}/train.py {' '.join(words)}\n{after}"


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_a_job_on_two_nodes_needs_no_word_about_them(cluster: Slurm, corpus, tmp_path, strategy):
    run_dir = tmp_path / "run"
    words = arguments(corpus, run_dir, STEPS | {"trainer.strategy": strategy})
    job = cluster.submit(script(words, nodes=2, tasks=2))
    assert cluster.wait(job) == "COMPLETED", cluster.out(job)
    assert checkpoint(run_dir)["position"]["world_size"] == 4
    assert RunDirectory(run_dir).is_scored and cluster.out(job).count("translate with:") == 1


def test_an_array_is_a_run_for_each_number(cluster: Slurm, corpus, tmp_path):
    keys = [word for word in arguments(corpus, Path("RUN"), STEPS) if not word.startswith("run_dir=")]
    words = [*keys, "seed=$SLURM_ARRAY_TASK_ID", f"run_dir={tmp_path}/seed-$SLURM_ARRAY_TASK_ID", "resume=auto"]
    job = cluster.submit(script(words, more="#SBATCH --array=1-2"))
    assert cluster.wait(job) == "COMPLETED", cluster.out(job)
    for seed in (1, 2):
        run = RunDirectory(tmp_path / f"seed-{seed}")
        assert run.is_scored and run.config().seed == seed


@pytest.mark.parametrize("told", ["signal", "requeue"])
def test_a_preempted_job_is_requeued_and_ends_as_one_that_was_not(cluster: Slurm, corpus, tmp_path, told):
    """SLURM's signal before the end, after which the script asks for another turn; or `scontrol requeue` by others."""
    parts, whole = tmp_path / "parts", tmp_path / "whole"
    changes = STEPS | {"trainer.max_steps": 300, "trainer.val_every_n_steps": 20}
    after = 'status=$?; if [ $status = 138 ]; then scontrol requeue "$SLURM_JOB_ID"; sleep 60; fi; exit $status\n'
    words = [*arguments(corpus, parts, changes), "resume=auto"]
    job = cluster.submit(script(words, nodes=2, more="#SBATCH --requeue", after=after))
    end = time.monotonic() + 480
    while not (parts / "checkpoints/last.ckpt").exists():
        assert time.monotonic() < end, cluster.out(job)
        time.sleep(0.1)
    if told == "signal":
        cluster.run("scancel", "--signal=USR1", job)  # to all processes of its steps
    else:
        cluster.run("scontrol", "requeue", job)
    assert cluster.wait(job) == "COMPLETED", cluster.out(job)
    assert "Restarts=1" in cluster.run("scontrol", "show", "job", job)
    job = cluster.submit(script(arguments(corpus, whole, changes), nodes=2))
    assert cluster.wait(job) == "COMPLETED", cluster.out(job)
    ours, theirs = (checkpoint(run_dir)["state_dict"] for run_dir in (parts, whole))
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.items())


def test_the_jobs_of_a_sweep_are_jobs_of_the_cluster(cluster: Slurm, corpus, tmp_path):
    """By Hydra's submitit launcher: each is a run of two processes. One fails, and the same command does it again."""
    keys = [word for word in arguments(corpus, tmp_path / "sweep", STEPS) if not word.startswith("seed=")]
    words = ["-m", *keys, "data.valid=valid,later", "hydra/launcher=submitit_slurm", "hydra.launcher.tasks_per_node=2"]
    words += ["hydra.launcher.mem_gb=null", "hydra.launcher.timeout_min=10"]
    place = {"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}

    def sweep() -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, str(ROOT / "train.py"), *words]
        return subprocess.run(
            command, env=cluster.env | place, cwd=tmp_path, capture_output=True, text=True, timeout=500
        )

    done = sweep()
    assert done.returncode == 2, done.stderr
    assert "1 of 2 jobs are finished; not finished:\n  001_data.valid=later: " in done.stderr
    for language in ("fr", "en"):
        shutil.copy(corpus / f"valid.{language}", corpus / f"later.{language}")
    done = sweep()
    assert done.returncode == 0, done.stderr
    for name in ("000_data.valid=valid", "001_data.valid=later"):
        run = RunDirectory(tmp_path / "sweep" / name)
        assert run.is_scored and checkpoint(run.path)["position"]["world_size"] == 2


def test_a_text_is_translated_on_two_nodes_and_by_an_array(cluster: Slurm, trained_run: Path, tmp_path: Path) -> None:
    """srun's processes share its blocks and join them; tasks of an array make shards, which a command joins."""
    (tmp_path / "in").write_text("".join(f"{source}\n" for source, _ in sentences(60)))
    translate = f"{sys.executable} {ROOT}/translate.py --model {trained_run} --device cpu --threads 1"
    translate += f" --max-batch-tokens 8 --input {tmp_path}/in --output {tmp_path}"
    job = cluster.submit(HEADER.format(nodes=2, tasks=2, more="", root=ROOT) + f"srun {translate}/shared\n")
    assert cluster.wait(job) == "COMPLETED", cluster.out(job)
    assert cluster.out(job).count("translated ") == 1, cluster.out(job)
    header = HEADER.format(nodes=1, tasks=1, more="#SBATCH --array=1-3", root=ROOT)
    array = cluster.submit(header + f"{translate}/joined --shard $SLURM_ARRAY_TASK_ID/3\n")
    assert cluster.wait(array) == "COMPLETED", cluster.out(array)
    cluster.run(sys.executable, "-m", "seq2seq", "join", tmp_path / "joined")
    assert run_cli(*translate.split()[2:-1], tmp_path / "alone")[0] == 0
    for name in ("shared", "joined"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "alone").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "in", "joined", "shared"]
