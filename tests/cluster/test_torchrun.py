"""Two torchrun agents, as on two machines: with shared files and without, and when a process is killed."""

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.launching import TRAIN, Process, end_of, free_port, started, wait_for
from tests.training.tiny_runs import arguments, checkpoint

STEPS: dict[str, Any] = {"trainer.max_epochs": 0, "trainer.max_steps": 4, "trainer.val_every_n_steps": 10**6}


def agents(stack: ExitStack, words: list[str], folders: list[Path], *options: str, n_each: int = 2) -> list[Process]:
    """One for each machine, with so many processes each."""
    port = free_port()
    meeting = ["--nnodes", len(folders), "--nproc-per-node", n_each, "--rdzv-backend", "c10d", "--rdzv-id", "run"]
    meeting += ["--rdzv-endpoint", f"127.0.0.1:{port}", "--local-addr", "127.0.0.1", *options]
    return [
        stack.enter_context(started("-m", "torch.distributed.run", *meeting, TRAIN, *words, cwd=folder))
        for folder in folders
    ]


def workers(agent: Process) -> list[int]:
    """The processes of the run that an agent has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, parent = int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == agent.pid:
            found.append(pid)
    return sorted(found)


def test_each_machine_may_have_a_cache_of_its_own(corpus, tmp_path):
    folders = [tmp_path / "here", tmp_path / "there"]
    for folder in folders:
        folder.mkdir()
    words = [word for word in arguments(corpus, tmp_path / "run", STEPS) if not word.startswith("data.cache_dir=")]
    with ExitStack() as stack:
        ends = [end_of(each) for each in agents(stack, [*words, "data.cache_dir=cache"], folders)]
    assert [status for status, _ in ends] == [0, 0], ends
    assert all(list((folder / "cache/stores").iterdir()) for folder in folders)
    assert checkpoint(tmp_path / "run")["position"]["world_size"] == 4
    assert sum(err.count("translate with:") for _, err in ends) == 1


def test_a_process_that_is_killed_costs_the_steps_since_the_last_save(corpus, tmp_path):
    run_dir, whole = tmp_path / "run", tmp_path / "whole"
    changes = STEPS | {"trainer.max_steps": 200, "trainer.val_every_n_steps": 20}
    with ExitStack() as stack:
        words = [*arguments(corpus, run_dir, changes), "resume=auto"]
        both = agents(stack, words, [tmp_path] * 2, "--max-restarts", "1", n_each=1)
        wait_for((run_dir / "checkpoints/last.ckpt").exists, both[0])
        os.kill(workers(both[1])[-1], signal.SIGKILL)
        ends = [end_of(each) for each in both]
    assert [status for status, _ in ends] == [0, 0], ends
    assert RunDirectory(run_dir).is_scored
    with ExitStack() as stack:
        ends = [end_of(each) for each in agents(stack, arguments(corpus, whole, changes), [tmp_path] * 2, n_each=1)]
    assert [status for status, _ in ends] == [0, 0], ends
    ours, theirs = (checkpoint(each)["state_dict"] for each in (run_dir, whole))
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.items())


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
